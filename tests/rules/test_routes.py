"""The addresses that the feature serves or goes to."""

from pathlib import Path

import pytest
from _own import make_thin, texts

from _evidence_project import write

# Without a definition, one line about a bare name does not make its file about it.
DEFINED = "function login() {}\n"


def test_routes_of_a_file_are_one_fact(tmp_path: Path) -> None:
    code = (
        'app.get("/login", login);\napp.post("/login/reset", reset);\napp.get("/cart", cart);\n'
        "export function login() {}\n"
    )
    root = write(tmp_path, {"src/app.js": code})
    assert texts(root, "routes") == ["`/login` src/app.js:1, `/login/reset` :2"]


def test_decorators_of_a_main_definition_name_its_route(tmp_path: Path) -> None:
    code = '@app.route("/enter")\ndef login(): ...\n'
    root = write(tmp_path, {"src/app.py": code})
    assert texts(root, "routes") == ["`/enter` src/app.py:1"]


def test_annotations_are_routes_too(tmp_path: Path) -> None:
    code = 'class Login {\n  @GetMapping("/login/{id}")\n  public void login() {}\n}\n'
    root = write(tmp_path, {"src/Login.java": code})
    assert texts(root, "routes") == ["`/login/{id}` src/Login.java:2"]


def test_files_are_no_routes(tmp_path: Path) -> None:
    code = 'def login():\n    open("/etc/login")\n    read_text("/login")\n'
    assert texts(write(tmp_path, {"src/app.py": code}), "routes") == []


def test_what_examples_and_tests_serve_is_left_out(tmp_path: Path) -> None:
    code = 'app.get("/login", login)\n\n\ndef login(): ...\n'
    unit = (
        "pub fn login() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn test_login() {\n"
        '        client.get("/login");\n    }\n}\n'
    )
    root = write(tmp_path, {"examples/app.py": code, "src/login.rs": unit})
    assert texts(root, "routes") == []


def test_a_feature_the_project_hardly_mentions_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path, {"src/app.js": f'app.get("/login", login);\n{DEFINED}'})
    assert len(texts(root, "routes")) == 1
    make_thin(monkeypatch)
    assert texts(root, "routes") == []


@pytest.mark.parametrize("address", ["/login`x`", "/login (a)", "/login/<id>", "/" + "login" * 300])
def test_hostile_addresses_check_out_or_are_left_out(tmp_path: Path, address: str) -> None:
    root = write(tmp_path, {"src/app.js": f"app.get('{address}', login);\n{DEFINED}"})
    assert len(texts(root, "routes")) == (address == "/login/<id>")


def test_a_table_of_routes_is_read_though_it_ranks_lower_and_needs_no_slashes(
    tmp_path: Path,
) -> None:
    pages = {f"src/login{n}.php": "<?php\nfunction login() { login(); }\n" for n in range(7)}
    table = "<?php\nRoute::get('cart', Cart::class);\nRoute::post('login/reset', Reset::class);\n"
    root = write(tmp_path, {**pages, "routes/web.php": table})
    assert texts(root, "routes") == ["`login/reset` routes/web.php:3"]


def test_routes_of_rails_are_keys_and_resources(tmp_path: Path) -> None:
    table = (
        "Rails.application.routes.draw do\n"
        '  get "/login" => "sessions#new"\n  resources :logins, only: [:index]\n'
        "  resources :carts\nend\n"
    )
    root = write(tmp_path, {"app/login.rb": "def login; end\n", "config/routes.rb": table})
    assert texts(root, "routes") == ["`/login` config/routes.rb:2, `resources :logins` :3"]


def test_patterns_with_a_method_are_routes_though_their_file_ranks_lower(tmp_path: Path) -> None:
    pages = {f"login{n}.go": "package a\n\nfunc login() {\n\tlogin()\n}\n" for n in range(7)}
    serve = (
        "package a\n\nfunc serve() {\n"
        + "".join(f'\tmux.HandleFunc("{one}", page)\n' for one in ("GET /cart", "POST /v1/login"))
        + "}\n"
    )
    root = write(tmp_path, {**pages, "serve.go": serve})
    assert texts(root, "routes") == ["`POST /v1/login` serve.go:5"]


def test_a_route_is_on_its_first_line_and_the_table_comes_first(tmp_path: Path) -> None:
    page = 'def login():\n    redirect("/login/done")\n'
    table = 'get "/login" => "a#new"\npost "/login" => "a#create"\n'
    root = write(tmp_path, {"app/login.rb": page + "end\n", "config/routes.rb": table})
    assert texts(root, "routes")[0] == "`/login` config/routes.rb:1"
