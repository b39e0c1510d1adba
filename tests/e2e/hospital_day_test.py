"""A hospital's day in ten minutes: fifty rooms' scans of 24 hours, an hour in 25 seconds, while nodes are struck.

A campaign: `./dev test --fault -R hospital_day`. ISOCENTER_ROOMS (6), ISOCENTER_CAMPAIGN_SECONDS (120) for the day,
ISOCENTER_SCANS_A_DAY (20) of a room; ISOCENTER_FAULT_SEED repeats arrivals and faults. The frames are small and come as fast as
they are taken: what is compressed is the time between scans, which all the state of a node lives in.
"""

import os
import random

import support
from rooms import campaign
from rooms.campaign import ROOMS, SECONDS, SEED

SCANS_A_DAY = int(os.environ.get("ISOCENTER_SCANS_A_DAY", "20"))
# How likely a scan is in each hour of the day: a planned programme from seven to five, emergencies around it.
HOURS = (1, 1, 1, 1, 1, 1, 2, 8, 16, 20, 20, 18, 11, 14, 19, 17, 12, 6, 4, 3, 2, 2, 1, 1)
FRAMES = ("--columns", 155, "--rows", 120, "--fps", 0)


def arrivals(rooms, scans, seconds, draws):
    """Of a day that lasts so many seconds: (seconds from midnight, room) for each scan."""
    found = []
    for room in range(1, rooms + 1):
        for hour in draws.choices(range(24), HOURS, k=scans):
            found.append(((hour + draws.random()) / 24 * seconds, room))
    return sorted(found)


class HospitalDayTest(campaign.RoomCampaign):
    def test_a_day_in_minutes(self):
        self.start(limits=campaign.LIMITS)
        first, reference, one = self.undisturbed(*FRAMES)
        day = arrivals(ROOMS, SCANS_A_DAY, SECONDS, random.Random(SEED))
        self.path("arrivals").write_text("".join(f"{seconds:.3f} {room}\n" for seconds, room in day))
        scans, samples = self.campaign(*FRAMES, "--arrivals", self.path("arrivals"))
        self.assertEqual(len(scans), len(day))
        self.check(scans, reference, beside=[first["job_id"]])
        self.check_disks(one)
        self.assertEqual(samples.grown(), [])


if __name__ == "__main__":
    support.main()
