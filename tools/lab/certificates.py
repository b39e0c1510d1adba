"""A certificate authority for one test, by the openssl command."""

import collections
import pathlib

from lab import process

Files = collections.namedtuple("Files", "certificate key")


class Authority:
    """Its certificate is in `file`; all files are in `folder`."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.file = self.folder / "ca.pem"
        self._ssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ca"),
            *("-keyout", "ca.key", "-out", self.file),
        )

    def certificate(self, name, usage=""):
        """Of 127.0.0.1, with the subject CN=name; `usage`: what its extended key usage is for alone."""
        files = Files(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        self._ssl(
            *("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"),
            *("-keyout", files.key, "-out", f"{name}.csr"),
        )
        usage = f"extendedKeyUsage={usage}\n" if usage else ""
        (self.folder / "san").write_text(f"subjectAltName=IP:127.0.0.1\n{usage}")
        self._ssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", self.file, "-CAkey", "ca.key", "-CAcreateserial"),
            *("-days", "2", "-extfile", "san", "-out", files.certificate),
        )
        return files

    def _ssl(self, *arguments):
        done = process.run([process.find_tool("openssl", "openssl"), *arguments], cwd=self.folder)
        if done.returncode != 0:
            raise process.LabError(f"openssl {arguments[0]}: {done.stderr}")
