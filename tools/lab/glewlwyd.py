"""Debian's Glewlwyd as the hospital's identity provider: OpenID Connect with people, groups and keys that the test sets."""

import http.client
import http.cookiejar
import json
import pathlib
import sqlite3
import urllib.error
import urllib.parse
import urllib.request

from lab import process

CLIENT = "isocenter"
_SCHEMA = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3"
_MODULES = "/usr/lib/glewlwyd"
_ADMINISTRATOR = {"username": "admin", "password": "password"}  # of the package's empty database


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Where an answer leads is for the caller to see."""

    def redirect_request(self, *_):
        return None


class Browser:
    """Keeps cookies, follows nothing by itself."""

    def __init__(self):
        self.cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self.cookies), urllib.request.ProxyHandler({}), _NoRedirect()
        )

    def ask(self, method, url, body=None, headers=None):
        """(status, headers, body)."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers=headers or {}, method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with self._opener.open(request, timeout=60) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()


class Glewlwyd:
    """`keys`: private keys as a JSON Web Key Set, the first of which signs."""

    def __init__(self, folder, keys, redirect_uri, secret, token_seconds=3600):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = process.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.issuer = f"{self.url}/api/oidc"
        self.keys, self.redirect_uri, self.secret, self.token_seconds = keys, redirect_uri, secret, token_seconds
        self.process = None
        self._administrator = Browser()

    def start(self):
        database = self.folder / "glewlwyd.db"
        if not database.exists():
            if not pathlib.Path(_SCHEMA).exists():
                raise process.LabError(f"{_SCHEMA} was not found; install it with: ./dev setup (package glewlwyd)")
            with sqlite3.connect(database) as connection:
                connection.executescript(pathlib.Path(_SCHEMA).read_text())
            self._launch(database)
            self._set_up()
        else:
            self._launch(database)
        return self

    def _launch(self, database):
        file = self.folder / "glewlwyd.conf"
        file.write_text(
            f"""port={self.port}
bind_address="127.0.0.1"
external_url="{self.url}/"
login_url="login.html"
api_prefix="api"
cookie_secure=0
log_mode="console"
log_level="INFO"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="{_MODULES}/user"
client_module_path="{_MODULES}/client"
user_auth_scheme_module_path="{_MODULES}/scheme"
plugin_module_path="{_MODULES}/plugin"
hash_algorithm="SHA512"
database = {{ type = "sqlite3" path = "{database}" }}
"""
        )
        self.process = process.Process(
            [process.find_tool("glewlwyd", "glewlwyd"), "--config-file", file], self.folder / "glewlwyd.log", cwd=self.folder
        )
        self.process.wait_for(self._answers, 60, "an answer over HTTP")

    def _answers(self):
        try:
            return self._administrator.ask("GET", f"{self.url}/config")[0] == 200
        except (OSError, http.client.HTTPException):
            return None

    def _must(self, method, path, body=None):
        status, _, answer = self._administrator.ask(method, f"{self.url}/api/{path}", body)
        if status != 200:
            raise process.LabError(f"Glewlwyd refused {method} {path}: {status} {answer.decode(errors='replace')}")
        return json.loads(answer) if answer.strip() else None

    def _set_up(self):
        self._must("POST", "auth/", _ADMINISTRATOR)
        users = self._must("GET", "mod/user/database")
        users["parameters"]["data-format"]["groups"] = {"multiple": True, "read": True, "write": True}
        self._must("PUT", "mod/user/database", users)
        self._must("PUT", "mod/user/database/reset/")
        self._must("POST", "mod/plugin/", {"module": "oidc", "name": "oidc", "display_name": "OpenID", "parameters": self._parameters()})
        client = {
            "client_id": CLIENT,
            "name": "Isocenter",
            "enabled": True,
            "confidential": True,
            "password": self.secret,
            "client_secret": self.secret,
            "redirect_uri": [self.redirect_uri],
            "authorization_type": ["code"],
            "token_endpoint_auth_method": ["client_secret_basic"],
            "scope": [],
        }
        self._must("POST", "client/", client)

    def _parameters(self):
        return {
            "iss": self.issuer,
            "jwks-private": json.dumps(self.keys),
            "jwt-type": "rsa",
            "jwt-key-size": "256",
            "access-token-duration": self.token_seconds,
            "refresh-token-duration": 3600,
            "code-duration": 60,
            "refresh-token-rolling": False,
            "auth-type-code-enabled": True,
            "auth-type-code-revoke-replayed": True,
            "auth-type-token-enabled": False,
            "auth-type-id-token-enabled": True,
            "auth-type-none-enabled": False,
            "auth-type-password-enabled": False,
            "auth-type-client-enabled": False,
            "auth-type-device-enabled": False,
            "auth-type-refresh-enabled": False,
            "pkce-allowed": True,
            "pkce-required": True,
            "pkce-method-plain-allowed": False,
            "jwks-show": True,
            "subject-type": "public",
            "name-claim": "mandatory",
            "email-claim": "no",
            "scope-claim": "no",
            "address-claim": {"type": "no"},
            "oauth-as-iss-id": True,
            "claims": [{"name": "groups", "user-property": "groups", "type": "string", "mandatory": True, "on-demand": False, "scope": []}],
            "additional-parameters": [{"user-parameter": "groups", "token-parameter": "groups"}],
        }

    def rotate(self, keys):
        """Signs with other keys from now on."""
        self.keys = keys
        plugin = self._must("GET", "mod/plugin/oidc")
        plugin["parameters"] = self._parameters()
        self._must("PUT", "mod/plugin/oidc", plugin)
        self._must("PUT", "mod/plugin/oidc/reset/")

    def add_person(self, name, password, groups):
        person = {"username": name, "name": name.title(), "password": password, "enabled": True, "scope": ["openid"], "groups": groups}
        self._must("POST", "user/", person)

    def sign_in(self, browser, url, name, password):
        """What a person does who was sent to `url`, the authorization endpoint: where the provider sends the browser then."""
        status, _, answer = browser.ask("POST", f"{self.url}/api/auth/", {"username": name, "password": password})
        if status != 200:
            raise process.LabError(f"Glewlwyd refused {name}: {status} {answer.decode(errors='replace')}")
        status, _, answer = browser.ask("PUT", f"{self.url}/api/auth/grant/{CLIENT}", {"scope": "openid"})
        if status != 200:
            raise process.LabError(f"Glewlwyd refused the grant: {status} {answer.decode(errors='replace')}")
        status, headers, answer = browser.ask("GET", f"{url}&g_continue=")
        if status != 302:
            raise process.LabError(f"Glewlwyd did not send the browser back: {status} {answer.decode(errors='replace')}")
        return headers["Location"]

    def stop(self):
        if self.process:
            self.process.stop()
