"""A certificate that holds from one time to another: only `openssl ca` makes one that has ended, or ends within the day."""

import datetime

import support

_CONFIG = """\
[ca]
default_ca=own
[own]
database={folder}/index
serial={folder}/serial
new_certs_dir={folder}
default_md=sha256
policy=any
unique_subject=no
[any]
commonName=supplied
"""


def issue(openssl, folder, name, begin, end):
    """Writes NAME.pem and NAME.key into `folder`; `begin` and `end` are seconds from now."""
    own = folder / f"{name}.ca"
    own.mkdir()
    (own / "index").touch()
    (own / "serial").write_text("01\n")
    (own / "conf").write_text(_CONFIG.format(folder=own))
    key, request, certificate = (folder / f"{name}.{suffix}" for suffix in ("key", "csr", "pem"))
    now = datetime.datetime.now(datetime.timezone.utc)
    times = [(now + datetime.timedelta(seconds=s)).strftime("%Y%m%d%H%M%SZ") for s in (begin, end)]
    for argv in (
        ["req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request],
        ["ca", "-batch", "-notext", "-config", own / "conf", "-selfsign", "-keyfile", key, "-in", request]
        + ["-out", certificate, "-startdate", times[0], "-enddate", times[1]],
    ):
        done = support.process.run([openssl, *argv])
        if done.returncode != 0:
            raise support.process.LabError(f"openssl {argv[0]}: {done.stderr}")
