"""Signing on by Debian's Glewlwyd: people on the page, programs on gRPC and HTTP, keys that change, a provider that is away."""

import base64
import hashlib
import json
import re
import secrets
import time
import unittest
import urllib.parse
import urllib.request

import support
from lab import glewlwyd, isocenter, process

try:
    from jwcrypto import jwk, jws
except ImportError:
    jwk = None

SECRET = "d0d3ff7a-secret-of-the-service"  # Glewlwyd takes HTTP Basic as it is, without RFC 6749's percent-encoding
LEEWAY_S = 1


def make_key(name, kind="RSA"):
    """(private key as a provider has it, the same for signing here)."""
    options = {"size": 2048, "alg": "RS256"} if kind == "RSA" else {"crv": "P-256", "alg": "ES256"}
    key = jwk.JWK.generate(kty=kind, kid=name, **options)
    return json.loads(key.export()), key


def sign(key, claims, header=None):
    header = header or {"alg": key.get("alg"), "kid": key.get("kid"), "typ": "JWT"}
    token = jws.JWS(json.dumps(claims))
    token.add_signature(key, protected=json.dumps(header))
    return token.serialize(compact=True)


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def claims_of(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def query_of(url):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))


@unittest.skipIf(jwk is None, "python3-jwcrypto is not installed")
class SignOnTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        support.need("glewlwyd", "glewlwyd")
        private, self.key = make_key("key-1")
        self.service = isocenter.Service(self.folder / "service")
        self.addCleanup(self.service.stop)
        self.page = f"http://{self.service.web}/"
        self.provider = glewlwyd.Glewlwyd(
            self.folder / "provider", {"keys": [private]}, f"{self.page}api/v1/session/callback", SECRET
        )
        self.addCleanup(self.provider.stop)
        self.audit = self.folder / "audit.jsonl"
        secret = self.folder / "client.secret"
        secret.write_text(SECRET + "\n")
        secret.chmod(0o600)
        tokens = self.folder / "tokens"
        tokens.write_text(f"viewer {hashlib.sha256(b'listed').hexdigest()} monitoring\n")
        tokens.chmod(0o600)
        self.service.web_fields = f"""
          tokens_file: "{tokens}"
          openid {{
            issuer: "{self.provider.issuer}" client_id: "{glewlwyd.CLIENT}" client_secret_file: "{secret}"
            page_url: "{self.page}" title: "Hospital" name_claim: "name" leeway_seconds: {LEEWAY_S}
            role {{ group: "ct-operators" role: WEB_ROLE_OPERATOR }} role {{ group: "ct-rooms" role: WEB_ROLE_CONSOLE }}
          }}"""
        self.service.extra_config = f'audit {{ file: "{self.audit}" }}'

    def start(self):
        self.provider.start()
        for name, groups in (("alice", ["staff", "ct-operators"]), ("room", ["ct-rooms"]), ("mallory", ["staff"])):
            self.provider.add_person(name, f"password of {name}", groups)
        self.service.start()
        process.wait_until(lambda: "event=provider_keys_fetched" in self.service.process.output(), 30, "the provider's keys")

    def come_back(self, browser, name):
        """Somebody goes to the provider and signs in there: the address that leads back."""
        status, headers, _ = browser.ask("GET", f"{self.page}api/v1/session/provider")
        self.assertEqual(status, 302)
        self.assertTrue(headers["Location"].startswith(self.provider.url), headers["Location"])
        return self.provider.sign_in(browser, headers["Location"], name, f"password of {name}")

    def id_token(self, name):
        """What a program gets that signs somebody in by itself."""
        verifier = secrets.token_urlsafe(48)
        query = {
            "response_type": "code",
            "client_id": glewlwyd.CLIENT,
            "redirect_uri": self.provider.redirect_uri,
            "scope": "openid",
            "nonce": "n",
            "state": "s",
            "code_challenge": encode(hashlib.sha256(verifier.encode()).digest()),
            "code_challenge_method": "S256",
        }
        url = f"{self.provider.issuer}/auth?{urllib.parse.urlencode(query)}"
        code = query_of(self.provider.sign_in(glewlwyd.Browser(), url, name, f"password of {name}"))["code"]
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": query["redirect_uri"], "code_verifier": verifier}
        request = urllib.request.Request(f"{self.provider.issuer}/token", urllib.parse.urlencode(form).encode())
        credentials = f"{glewlwyd.CLIENT}:{SECRET}"
        request.add_header("Authorization", "Basic " + base64.b64encode(credentials.encode()).decode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["id_token"]

    def status_with(self, token):
        """What HTTP answers to a token."""
        return glewlwyd.Browser().ask("GET", f"{self.page}api/v1/status", headers={"Authorization": f"Bearer {token}"})[0]

    def jobs_with(self, token):
        """What gRPC answers to it: 0, or the command's words."""
        file = self.folder / "token"
        file.write_text(token + "\n")
        done = isocenter.call("jobs", "--server", self.service.grpc, "--token-file", file)
        return done.returncode and done.stderr

    def records(self, action):
        lines = self.audit.read_text().rpartition("\n")[0].splitlines()
        return [record for record in map(json.loads, lines) if record["action"] == action]

    def refusals(self):
        """Counts of refused tokens, by reason."""
        with urllib.request.urlopen(f"http://{self.service.metrics}/metrics", timeout=60) as answer:
            found = re.findall(r'isocenter_token_refused_total\{reason="(\w+)"\} (\d+)', answer.read().decode())
        return {reason: int(count) for reason, count in found}

    def test_people_sign_in_on_the_page(self):
        self.start()
        browser = glewlwyd.Browser()
        session = lambda: json.loads(browser.ask("GET", f"{self.page}api/v1/session")[2])
        self.assertEqual(session()["provider"], "Hospital")
        back = self.come_back(browser, "alice")
        self.assertTrue(back.startswith(self.provider.redirect_uri), back)
        self.assertEqual(query_of(back)["iss"], self.provider.issuer)
        status, headers, _ = browser.ask("GET", back)
        self.assertEqual((status, headers["Location"]), (302, "../../../"))
        signed_in = session()
        self.assertEqual([signed_in[key] for key in ("name", "role", "via")], ["Alice", "operator", "provider"])
        self.assertIsNotNone(signed_in["expires_time"])
        status, _, _ = browser.ask("POST", f"{self.page}api/v1/node:drain", {}, {"X-CSRF-Token": signed_in["csrf_token"]})
        self.assertEqual(status, 200)
        self.assertIn('event=node_drained by="Alice"', self.service.process.output())

        # The same answer once more, in this browser and in another.
        for other in (browser, glewlwyd.Browser()):
            status, _, body = other.ask("GET", back)
            self.assertEqual(status, 403)
            self.assertIn(b"You are not signed in", body)
        status, _, _ = browser.ask("DELETE", f"{self.page}api/v1/session", None, {"X-CSRF-Token": signed_in["csrf_token"]})
        self.assertEqual(status, 204)
        self.assertFalse(session()["signed_in"])
        self.assertEqual(browser.ask("GET", f"{self.page}api/v1/status")[0], 401)
        process.wait_until(lambda: self.records("sign_out"), 60, "the record of the sign-out")
        success = [record for record in self.records("sign_in") if record["outcome"] == "success"]
        self.assertEqual(success[0]["actor"], "Alice")
        self.assertTrue(success[0]["detail"].startswith("openid "), success[0])

    def test_answers_that_were_meddled_with_are_refused(self):
        self.start()
        for change in (
            lambda back: back.replace("state=", "state=0"),
            lambda back: re.sub(r"code=[^&]+", "code=guess", back),
            lambda back: re.sub(r"iss=[^&]+", "iss=https%3A%2F%2Fevil.example", back),
            lambda back: back + "&state=again",
        ):
            browser = glewlwyd.Browser()
            status, headers, body = browser.ask("GET", change(self.come_back(browser, "alice")))
            self.assertEqual(status, 403, body)
            self.assertIsNone(headers["Location"])
            self.assertFalse(json.loads(browser.ask("GET", f"{self.page}api/v1/session")[2])["signed_in"])
        # A code that was given to one, in the browser of another.
        jane, eve = glewlwyd.Browser(), glewlwyd.Browser()
        stolen = query_of(self.come_back(jane, "alice"))["code"]
        status, _, body = eve.ask("GET", re.sub(r"code=[^&]+", f"code={stolen}", self.come_back(eve, "mallory")))
        self.assertEqual(status, 403, body)
        # Somebody whom the provider knows, without a group that has a role.
        browser = glewlwyd.Browser()
        status, _, body = browser.ask("GET", self.come_back(browser, "mallory"))
        self.assertEqual(status, 403)
        self.assertIn(b"none of your groups has a role", body)

    def test_programs_show_tokens(self):
        self.start()
        token = self.id_token("room")
        self.assertEqual(self.jobs_with(token), 0)
        self.assertEqual(self.jobs_with("listed"), 0)
        self.assertEqual(self.status_with(token), 200)
        (self.folder / "token").write_text(token + "\n")
        job = self.stream(self.service, "--token-file", self.folder / "token")["job_id"]
        self.assertIn("gives no role here", self.jobs_with(self.id_token("mallory")))
        (self.folder / "token").write_text(token)
        refused = isocenter.call("delete", job, "--server", self.service.grpc, "--token-file", self.folder / "token")
        self.assertIn("the role is console; this needs administrator", refused.stderr)

    def test_tokens_of_others_are_refused(self):
        self.start()
        good = claims_of(self.id_token("room"))
        self.assertEqual(self.status_with(sign(self.key, good)), 200)
        _, stranger = make_key("key-1")
        public = self.key.export_to_pem()
        shared = jwk.JWK(kty="oct", k=encode(public))
        unsigned = f"{encode(json.dumps({'alg': 'none'}).encode())}.{encode(json.dumps(good).encode())}."
        now = int(time.time())
        cases = (
            ("expired", sign(self.key, {**good, "exp": now - 60})),
            ("not_yet_valid", sign(self.key, {**good, "nbf": now + 600})),
            ("audience", sign(self.key, {**good, "aud": "another service"})),
            ("issuer", sign(self.key, {**good, "iss": self.provider.issuer + "/"})),
            ("algorithm", unsigned),
            ("algorithm", sign(shared, good, {"alg": "HS256", "kid": "key-1"})),
            ("signature", sign(stranger, good)),
            ("malformed", sign(self.key, good) + "="),
            ("too_long", sign(self.key, {**good, "padding": "x" * 8000})),
        )
        before = self.refusals()
        answers = set()
        for reason, token in cases:
            answer = self.jobs_with(token)
            self.assertTrue(answer, reason)
            if reason != "too_long":  # the command sends no longer ones
                answers.add(answer)
            self.assertEqual(self.status_with(token), 401, reason)
        self.assertEqual(len(answers), 1, answers)
        counted = {reason: count - before.get(reason, 0) for reason, count in self.refusals().items()}
        for reason in {reason for reason, _ in cases}:
            # One on HTTP, and on gRPC as often as the command asks.
            wanted = sum(2 for each, _ in cases if each == reason)
            if reason == "too_long":
                self.assertEqual(counted[reason], 1, counted)
            else:
                self.assertGreaterEqual(counted[reason], wanted, f"{reason}: {counted}")

        def recorded():
            return {key for record in self.records("sign_in") for key in record.get("query", [])}

        wanted = {f"refusal={reason}" for reason, _ in cases}
        process.wait_until(lambda: wanted <= recorded(), 60, "the records with the reasons")

    def test_tokens_end_and_are_renewed(self):
        self.start()
        self.provider.token_seconds = 3
        self.provider.rotate(self.provider.keys)
        token = self.id_token("room")
        self.assertEqual(self.jobs_with(token), 0)
        ends = claims_of(token)["exp"] + LEEWAY_S
        process.wait_until(lambda: time.time() > ends, 30, "the token has ended")
        self.assertIn("not known", self.jobs_with(token))
        self.assertEqual(self.jobs_with(self.id_token("room")), 0)

    def test_keys_change(self):
        self.start()
        old = self.id_token("room")
        private, _ = make_key("key-2", "EC")
        self.provider.rotate({"keys": [private]})
        new = self.id_token("room")
        # The first one with a new key has it fetched, but not within 10 s of the fetch before: until then it counts as unknown, and
        # unknown tokens end in a pause.
        time.sleep(11)
        process.wait_until(lambda: self.status_with(new) == 200, 60, "the new key")
        self.assertEqual(self.jobs_with(new), 0)
        self.assertIn("not known", self.jobs_with(old))

    def test_a_provider_that_is_away(self):
        self.provider.start()  # its keys and people are in its database
        self.provider.add_person("room", "password of room", ["ct-rooms"])
        token = self.id_token("room")
        self.provider.stop()
        self.service.start()
        self.assertEqual(self.jobs_with("listed"), 0)
        self.assertEqual(self.status_with(token), 503)
        self.assertIn("identity provider", self.jobs_with(token))
        status, _, body = glewlwyd.Browser().ask("GET", f"{self.page}api/v1/session/provider")
        self.assertEqual(status, 503)
        self.assertIn(b"cannot be reached", body)
        self.provider.start()
        process.wait_until(lambda: self.status_with(token) == 200, 60, "the provider is found")
        back = self.come_back(browser := glewlwyd.Browser(), "room")
        self.provider.stop()
        self.assertEqual(self.jobs_with(token), 0, "its keys are kept")
        status, _, body = browser.ask("GET", back)
        self.assertEqual(status, 503)
        self.assertIn(b"does not answer", body)


if __name__ == "__main__":
    support.main()
