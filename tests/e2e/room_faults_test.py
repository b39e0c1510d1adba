"""Rooms scan in real time while three nodes are killed, drained, stopped, slowed, throttled and cut off at random: nothing is lost.

A campaign: `./dev test --fault -R room_faults`. ISOCENTER_ROOMS (6) rooms for ISOCENTER_CAMPAIGN_SECONDS (120);
ISOCENTER_FAULT_SEED repeats the draws. Needs beside the programs in ISOCENTER_BIN: haproxy, openssl; for networks of their own
ip, unshare and nsenter.
"""

import support
from rooms import campaign
from rooms.campaign import SECONDS

# 620x480 at 10 per second, in real time.
FRAMES = ("--columns", 620, "--rows", 480, "--fps", 10)


class RoomFaultsTest(campaign.RoomCampaign):
    def test_no_scan_is_lost(self):
        self.start(limits=campaign.LIMITS)
        first, reference, one = self.undisturbed(*FRAMES)
        scans, samples = self.campaign(*FRAMES, "--seconds", SECONDS)
        self.check(scans, reference, beside=[first["job_id"]])
        self.check_disks(one)
        self.assertEqual(samples.grown(), [])


if __name__ == "__main__":
    support.main()
