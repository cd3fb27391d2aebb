"""Secrets are found by shape or in `.env` files, and nothing else is mistaken for one."""

import base64
import os
import random
import re
import string
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _evidence_project import CALM, write
from _whole import sized
from preread.gates.secrets import SHAPES, kind_of_secret
from preread.infra import env_files
from preread.infra.secrets import Credentials

ALNUM, HEX = string.ascii_letters + string.digits, "0123456789abcdef"


def some(length: int, alphabet: str = ALNUM, seed: int = 1) -> str:
    """Random characters, generated so that no secret scanner flags this file."""
    drawn = random.Random(seed)  # the same in every run
    return "".join(drawn.choice(alphabet) for _ in range(length))


def token(*parts: object) -> str:
    return "".join(map(str, parts))


URLSAFE = ALNUM + "-_"
UPPER = string.ascii_uppercase
HEADER = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
PAYLOAD = base64.urlsafe_b64encode(b'{"sub":"8271","name":"Ada"}').decode().rstrip("=")
PRIVATE = "PRIVATE KEY-----"

FOUND = {
    "AWS access key": [token("AKIA", some(16, UPPER + "234567")),
        token("ASIA", some(16, UPPER + "234567"))],
    "GitHub token": [token("ghp_", some(36)), token("gho_", some(36)),
        token("github_pat_", some(22), "_", some(59))],
    "GitLab token": [token("glpat-", some(20, URLSAFE))],
    "Slack token": [token("xoxb-", some(12, "0123456789"), "-", some(24)),
        token("xapp-", "1-A0", some(30))],
    "Slack webhook": [token("https://hooks.slack.com/", "services/T", some(9), "/B", some(9),
        "/", some(24))],
    "Stripe key": [token("sk_", "live_", some(24)), token("rk_", "live_", some(30)),
        token("sk_", "test_", some(24))],
    "webhook secret": [token("whsec_", some(32))],
    "key of a model's service": [
        token("sk-", "ant-api03-", some(90, URLSAFE)), token("sk-", "proj-", some(48)),
        token("sk-", some(48)),
        token("gsk_", some(52)), token("xai-", some(80)),
    ],
    "Hugging Face token": [token("hf_", some(34, string.ascii_letters))],
    "Google API key": [token("AIza", some(35, URLSAFE))],
    "Google secret": [token("GOCSPX-", some(28, URLSAFE)), token("ya29.", some(60, URLSAFE))],
    "npm token": [token("npm_", some(36))],
    "PyPI token": [token("pypi-", "AgEIcHlwaS5vcmc", some(80, URLSAFE))],
    "JSON web token": [f"{HEADER}.{PAYLOAD}.{some(43, URLSAFE)}"],
    "SendGrid key": [token("SG.", some(22, URLSAFE), ".", some(43, URLSAFE))],
    "Twilio key": [token("SK", some(32, HEX)), token("AC", some(32, HEX))],
    "Azure key": [token("DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=", some(86),
        "==")],
    "Telegram token": [token(some(10, "123456789"), ":AA", some(33, URLSAFE))],
    "Discord token": [token("M", some(24), ".", some(6), ".", some(38, URLSAFE))],
    "Discord webhook": [token("https://discord.com/api/", "webhooks/", some(18, "123456789"),
        "/", some(68, URLSAFE))],
    "DigitalOcean token": [token("dop_", "v1_", some(64, HEX))],
    "Shopify token": [token("shpat_", some(32, HEX))],
    "Databricks token": [token("dapi", some(32, HEX))],
    "Linear key": [token("lin_", "api_", some(40))],
    "Mailgun key": [token("key-", some(32, HEX))],
    "Mailchimp key": [token(some(32, HEX), "-us12")],
    "New Relic key": [token("NRAK-", some(27, UPPER + string.digits))],
    "Sentry token": [token("sntrys_", some(60))],
    "Vault token": [token("hvs.", some(24))],
    "Postman key": [token("PMAK-", some(24, HEX), "-", some(34, HEX))],
    "Atlassian token": [token("ATATT3", some(180, URLSAFE))],
    "Supabase key": [token("sbp_", some(40, HEX)), token("sb_", "secret_", some(31, URLSAFE))],
    "age key": [token("AGE-SECRET-", "KEY-1", some(58, UPPER + string.digits))],
    "private key": [
        token("-----BEGIN RSA ", PRIVATE, "\n", some(64)),
        token("-----BEGIN ", PRIVATE, "\\n", some(64)),
        token("-----BEGIN OPENSSH ", PRIVATE, " ", some(64)),
        token("MII", "EpAIBAAKCAQEA", some(60)),
    ],
    "bearer token": [token("Authorization: ", "Bearer ", some(40))],
    "password in a URL": [
        token("https://deploy:", "s3cr-t9x@git.shop.io/a.git"),
        token("postgres://app:", "kd83hfks@db.shop.io:5432/x"),
        token("amqp://u:", "p%40ss9x@mq.shop.io"),
    ],
    "password or key": [
        token("password = ", '"', some(16), '"'), token("DB_PASSWORD=", some(20)),
        token("api_key: '", some(32, HEX), "'"),
        token('"clientSecret": "', some(40, URLSAFE), '"'),
        token("SECRET_KEY_BASE=", some(64, HEX)),
        token("aws_secret_access_key = ", some(40, ALNUM + "/+")),
        token("auth-token => `", some(24), "`"),
        token("config['token'] = \"", some(24), '"'),
    ],
}  # fmt: skip

NOT_FOUND = [
    'password = "test"', "PASSWORD = 'dummy'", 'password = "xxx"', 'SECRET_KEY = "Foobar"',
    'password = "wrong"', 'password: "secret"', "token-ada", 'const token = "token-ada"', 'password="********"',
    "api_key: your-api-key",
    "SECRET_KEY=changeme", "TOKEN=${TOKEN}", "token: process.env.GITHUB_TOKEN_V2",
    'password = os.environ["PASSWORD1"]', "password = settings.DATABASES_2.PASSWORD_3",
    "apiKey: import.meta.env.VITE_API_KEY_2", "token = create_token_v2(user1)", "token: string",
    "passwordField1 = page.locator('#password-1')", "`tokenizer` = AutoTokenizer2.from_pretrained3",
    "secret = base64.b64decode(value_12345)", "commit:3f9a01bc77de01aa34bb55cc66dd77ee88ff9900",
    "3f9a01bc77de01aa34bb55cc66dd77ee88ff9900", "sha512-" + "Z1v8Kx+/" * 10 + "==",
    "key={item.id}", "key: 550e8400",
    "the key is `data-testid=login-submit-button-2`", "https://user:password@example.com/path",
    "https://username:pass@host.example.org", "postgres://postgres:postgres@localhost:5432/app",
    "redis://:foo12345@redis:6379/0", "https://{user}:{password}@{host}/",
    "http://user:${PASSWORD}@shop.io",
    "https://shop.io/a:b/c@d", "git@github.com:user/repo.git", "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "x" * 36,
    "sk-circle-fade-dot-wrapper-animated-large", "sk-ant-api03-your-key-goes-here-please",
    "sk_live_xxxxxxxxxxxxxxxxxxxxxxxx", "xoxb-your-token-goes-here", "-----BEGIN PRIVATE KEY-----",
    "starts with `-----BEGIN RSA PRIVATE KEY-----`, else", "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA" + some(40),
    "Bearer <token>",
    "Bearer ${accessToken1234567890}", 'headers = {"Authorization": f"Bearer {token}"}',
    "npm_config_registry",
    "eyJ is how they begin", "api.key-value-pairs-in-a-list",
    "the token expires after 3600 seconds; see token_ttl=3600",
    "access_token_lifetime: timedelta(minutes=15)",
    "pwd: /srv/app/releases/2026-01-05", "password: 'correct horse battery'",
    "credentials: 'same-origin'",
    "token = 'test-token-123'", "secret: 'shhhhhhhhhhhhhhhhhhhh'", "SK8 board, AC 12 units",
    "password:12345678901234", "csrftoken: 'abcdefghijklmnop1'",
    "jwt_secret: <your secret here 12>",
    "token: 0000000000000000",
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "secret"), [(kind, secret) for kind, all_ in FOUND.items() for secret in all_]
)
@pytest.mark.parametrize("around", ["{}", "calls with `{}` (src/a.py:1)", "x = '{}';", "a\n{}\nb"])
def test_a_secret_is_found_by_its_shape_anywhere_and_not_repeated(
    kind: str, secret: str, around: str
) -> None:
    assert kind_of_secret(around.replace("{}", secret)) == kind


def test_every_shape_of_the_table_has_an_example() -> None:
    assert {row.kind for row in SHAPES} <= {kind for kind, secrets in FOUND.items() if secrets}
    for row in SHAPES:
        assert any(re.search(row.pattern, secret) for secret in FOUND[row.kind]), row


@pytest.mark.parametrize("text", NOT_FOUND)
def test_examples_placeholders_code_and_hashes_are_not_secrets(text: str) -> None:
    assert kind_of_secret(text) == ""


def test_a_secret_beside_a_placeholder_is_found() -> None:
    assert (
        kind_of_secret(token("AKIAIOSFODNN7EXAMPLE or AKIA", some(16, UPPER + "234567")))
        == "AWS access key"
    )


@CALM
@given(st.text(max_size=300))
def test_any_text_can_be_searched(text: str) -> None:
    assert isinstance(kind_of_secret(text), str)


HOSTILE = [
    "://", "://a:", "a:", "eyJ", "eyJ" + "a" * 9 + ".", "token=", "password", "secret = ", "sk-",
    "xoxb-", "AKIA",
    "MII", "-----BEGIN PRIVATE KEY-----", "-----BEGIN " + "A" * 20, "M", "-", ".", "1", "aB3",
    "Bearer ", "token-",
    "secret_", "user:pass@", "SG.", "1:AA", "=", " ", "hooks.slack.com/services/",
    "/api/webhooks/1",
]  # fmt: skip


@pytest.mark.parametrize("piece", sized(HOSTILE[::3], HOSTILE))
def test_a_search_takes_linear_time(piece: str) -> None:
    def seconds(size: int) -> float:
        text = "PRIVATE KEY ://x@ token=" + piece * (size // len(piece))
        spent = []
        for _ in range(3 if size < 100_000 else 1):
            begun = time.process_time()
            kind_of_secret(text)
            spent.append(time.process_time() - begun)
        return min(spent)

    small, large = seconds(10_000), seconds(330_000)
    assert large < 0.05 or large < 33 * 6 * small, (
        f"{large:.3f} s, and {small:.4f} s for a 33rd of it"
    )


# -- values of .env files

SECRET = some(24)


def of_env(root: Path, text: str) -> set[str]:
    return set(Credentials(write(root, {".env": text})).values)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (f"STRIPE={SECRET}", SECRET),
        (f"export STRIPE='{SECRET}'", SECRET),
        (f'  STRIPE = "{SECRET}"  # the account', SECRET),
        (f"STRIPE={SECRET} # the account", SECRET),
        (f"STRIPE: {SECRET}", SECRET),
        (f"STRIPE={SECRET}\r", SECRET),
        ("DB_PASSWORD=hunter22x", "hunter22x"),
        ("SMTP_PASS=blue-green-tree", "blue-green-tree"),
        ("JWT_SECRET=my own phrase for this", "my own phrase for this"),
        ("SOMETHING=Tr0ub4dor&3", "Tr0ub4dor&3"),
        ("DATABASE_URL=postgres://app:hunter22x@localhost/db", "hunter22x"),
        (f"HOOK=https://hooks.shop.io/in?key={SECRET}&v=1", SECRET),
        (f'CONFIG=\'{{"apiKey":"{SECRET}","name":"shop"}}\'', SECRET),
        (f'KEY="-----BEGIN KEY-----\n{SECRET}\n-----END KEY-----"\nNAME=shop', SECRET),
        (f'KEY="-----BEGIN KEY-----\\n{SECRET}\\n-----END KEY-----"', SECRET),
    ],
)
def test_a_secret_in_an_env_file_is_found_in_any_text(
    tmp_path: Path, line: str, value: str
) -> None:
    assert value in of_env(tmp_path, f"# settings\n{line}\n")
    found = Credentials(tmp_path)
    assert found.found(f"it is `{value}`, always") in {"value of a .env file", "password in a URL"}
    assert found.found("it is something else") == ""


@pytest.mark.parametrize(
    "line",
    [
        "NODE_ENV=development", "DEBUG=true", "PORT=30000000", "NAME=my-shop-app",
        "REGION=eu-central-1",
        "LEVEL=verbose", "ROOT=/srv/app/releases/v12", "OUT=./dist/output.v2",
        "HOME_URL=https://shop.example.com/v1/items",
        "DATABASE_URL=postgres://postgres:postgres@localhost:5432/shop",
        "ADMIN=ada@example.com", "HOST=db1.internal:5432", "MODEL=claude-sonnet-4-5",
        "PASSWORD=development",
        "API_KEY=changeme-please", "TOKEN=your-token-here", "DB_PASSWORD=password123",
        "PASSWORD=test1234",
        "KEY=short1", "START=2026-01-05 12:00", "EMPTY=", "#OLD=x9f83hfk29fh20dk",
        "IMAGE=node20-alpine3.19",
        "CRON=*/5 * * * *", "not an assignment at all",
    ],
)  # fmt: skip
def test_values_of_ordinary_text_are_not_secrets_of_an_env_file(tmp_path: Path, line: str) -> None:
    assert of_env(tmp_path, line) == set()


def test_a_value_in_the_example_file_is_not_a_secret(tmp_path: Path) -> None:
    text = f"A_TOKEN={SECRET}\nB_TOKEN={some(24, seed=2)}\n"
    for name in (
        ".env.example",
        ".env.sample",
        ".env.template",
        ".env.dist",
        ".env.production.example",
    ):
        root = tmp_path / name
        assert set(
            Credentials(write(root, {".env": text, name: f"A_TOKEN={SECRET}\n"})).values
        ) == {some(24, seed=2)}


def test_env_files_are_found_in_every_folder_of_the_project_ignored_or_not(tmp_path: Path) -> None:
    names = [
        ".env", ".env.local", "apps/web/.env.production", "My.Api/.env",
        ".devcontainer/devcontainer.env", ".envrc",
        ".envs/.production/.django",
    ]  # fmt: skip
    files = {name: f"A_TOKEN={some(24, seed=n)}\n" for n, name in enumerate(names)}
    root = write(tmp_path, files | {".gitignore": ".env*\n"})
    assert set(Credentials(root).values) == {some(24, seed=n) for n in range(len(names))}


def test_dependencies_links_and_special_files_are_skipped(tmp_path: Path) -> None:
    text = f"A_TOKEN={SECRET}\n"
    skipped = ("node_modules/x/.env", "vendor/.env", ".venv/.env", ".git/.env", "dist/.env")
    outside = write(tmp_path / "outside", {".env": text})
    root = write(tmp_path / "root", dict.fromkeys(skipped, text))
    (root / ".env.link").symlink_to(outside / ".env")
    (root / "linked").symlink_to(outside)
    (root / ".env.folder").mkdir()
    os.mkfifo(root / ".env.pipe")
    (root / ".env.binary").write_bytes(b"\xff\xfe\0A_TOKEN=" + os.urandom(100))
    write(root, {".env.good": f"B_TOKEN={some(24, seed=3)}\n"})
    assert some(24, seed=3) in Credentials(root).values
    assert SECRET not in Credentials(root).values


def test_a_file_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    root = write(
        tmp_path, {".env.a": f"A_TOKEN={SECRET}\n", "closed/.env": "A=1\n", ".env.b": "B=1\n"}
    )
    (root / ".env.b").chmod(0)
    (root / "closed").chmod(0)
    try:
        assert set(Credentials(root).values) == {SECRET}
    finally:
        (root / "closed").chmod(0o755)


def test_however_many_and_large_env_files_are_only_so_much_of_them_is_read(tmp_path: Path) -> None:
    lines = "".join(f"K{n}_TOKEN={some(20, seed=n)}\n" for n in range(3000))
    root = write(
        tmp_path, {f"d{n}/.env": lines for n in range(60)} | {f"many/{n}/x": "" for n in range(400)}
    )
    begun = time.process_time()
    assert 0 < len(Credentials(root).values) <= env_files.MAX_VALUES
    assert time.process_time() - begun < 5


def test_without_env_files_shapes_are_still_found(
    tmp_path: Path,
) -> None:
    found = Credentials(tmp_path)
    assert found.values == ()
    assert found.found(FOUND["GitHub token"][0]) == "GitHub token"


@pytest.mark.parametrize(
    ("text", "is_caught"),
    [
        ("ADMIN_PASSWORD = 'x1'", True), ("salt: \"x9\"", True), ("ghp_" + "a1B2" * 9, True),
        ("postgres://shop:S3cr3tV9@db.corp.net/x", True), ("S3cr3tValue99xK", True),
        ("PASSWORD=hunter2", True), ("db.password: hunter2", True), ("TOKEN = 'ab12'", True),
        ("dbPass = 'hunter2'", True), ("credentials: 'ada:h4x'", True), ("pwd='h4x'", True),
        ("private_key = 'k3y0'", True), ("  password: hunter2  # admin", True),
        ("export MYSQL_PASS=r00t", True), ("app.datasource.password=S3cr3t", True),
        ('login("ada", "hunter2")', False), ("PASSWORD=hunter", False),
        ("'hun' + 'ter2'", False), ("token = next_token2(x)", False), ("self.password = pw2", False),
        ("token: 'NAME1'", True), ("tests pass: v1.2", False), ("token_type = 'h1'", False),
        ("password: string", False), ("password=password1", False), ("token: 30s", False),
    ],
)  # fmt: skip
def test_what_the_readme_says_is_caught_and_what_is_not(
    tmp_path: Path, text: str, is_caught: bool
) -> None:
    (tmp_path / ".env").write_text("SHOP=S3cr3tValue99xK\n")
    assert bool(Credentials(tmp_path).found(f"it is `{text}`")) is is_caught
