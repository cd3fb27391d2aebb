"""How the tests of one file are run, by build tools, scripts and CI, each on a tiny real project."""

from pathlib import Path

from _evidence_project import found, services, write
from preread.evidence import builds, scripts

RUST_TESTS = (
    '#[cfg(test)]\nmod tests {\n    #[test]\n    #[cfg(feature = "deep")]\n    fn basket() {}\n}\n'
)
MULTIPLATFORM = 'plugins {\n    id("kotlin-multiplatform")\n}\nkotlin {\n    jvm()\n}\n'


def test_cargo_names_the_package_of_a_workspace_and_the_features_that_are_not_on(
    tmp_path: Path,
) -> None:
    features = '[features]\ndefault = ["plain"]\nplain = ["calm"]\ncalm = []\n'
    modules = '#[cfg(feature = "wet")]\n#[doc(hidden)]\npub mod basket;\n#[cfg(feature = "dry")]\nmod rain;\n'
    files = {
        "Cargo.toml": '[workspace]\nmembers = ["shop"]\n',
        "shop/Cargo.toml": f'[package]\nname = "egg-shop"\n\n{features}',
        "shop/src/lib.rs": '#[cfg(feature = "calm")]\nmod goods;\n',
        "shop/src/goods/mod.rs": modules,
        "shop/src/goods/basket.rs": RUST_TESTS,
    }
    tree = services(write(tmp_path, files)).tree
    run = builds.cargo(tree, "shop", "shop/src/goods/basket.rs", "src/goods/basket.rs")
    assert run == " -p egg-shop --features wet,deep goods::basket::"
    write(tmp_path, {"Cargo.toml": "[package]\n"})
    run = builds.cargo(
        services(tmp_path).tree, "shop", "shop/src/goods/basket.rs", "src/goods/basket.rs"
    )
    assert run.startswith(" --manifest-path shop/Cargo.toml ")


def test_gradle_s_modules_are_those_of_the_settings_and_their_tasks_those_of_their_platforms(
    tmp_path: Path,
) -> None:
    build = {f"shop/{name}/build.gradle.kts": "plugins {\n}\n" for name in ("eggs", "rain", "lost")}
    settings = 'include("shop:eggs")\nprojects {\n    +"rain"\n}\n'
    android = "apply plugin: 'com.android.library'\n"
    more = {
        "settings.gradle.kts": settings,
        "shop/eggs/src/commonMain/kotlin/Egg.kt": "class Egg\n",
    }
    tree = services(write(tmp_path, {**build, **more, "rain/build.gradle": android})).tree

    def task(module: str, test: str) -> str:
        path = f"{module}/build.gradle{'' if module == 'rain' else '.kts'}"
        return builds.gradle(tree, path, f"{module}/{test}")

    assert task("shop/rain", "src/test/java/RainTest.java") == ":rain:test"
    assert task("shop/lost", "src/test/java/LostTest.java") == ""  # the settings do not have it
    assert task("shop/eggs", "src/commonTest/kotlin/EggTest.kt") == ""  # of which platform?
    assert task("rain", "src/test/java/RainTest.java") == ":rain:testDebugUnitTest"
    assert task("rain", "src/androidTest/java/RainTest.java") == ""
    tree = services(write(tmp_path, {"shop/eggs/build.gradle.kts": MULTIPLATFORM})).tree
    assert task("shop/eggs", "src/commonTest/kotlin/EggTest.kt") == ":shop:eggs:jvmTest"
    assert task("shop/eggs", "src/androidUnitTest/kotlin/EggTest.kt") == ""


def test_a_script_is_the_one_whose_patterns_or_whose_runner_s_settings_have_the_test(
    tmp_path: Path,
) -> None:
    package = '{"scripts": {\n  "test": "npm run test:unit && mocha && npm run test:web",\n'
    package += '  "test:unit": "mocha test/unit/**/*.js",\n  "test:web": "karma start karma.conf.cjs"\n}}\n'
    karma = "files: [\n  {pattern: 'test/specs/**/*.spec.js'},\n]\n"
    tree = services(write(tmp_path, {"package.json": package, "karma.conf.cjs": karma})).tree

    def chosen(test: str) -> str:
        script = scripts.script_for(tree, "package.json", test)
        return script.name if script else ""

    assert chosen("test/specs/basket.spec.js") == "test:web"
    assert chosen("test/unit/rows/basket.js") == "test:unit"
    assert chosen("test/other/basket.js") == "test"  # which says nothing of its own


def test_commands_are_ctest_s_and_tox_s_and_of_the_tests_language_and_whole(tmp_path: Path) -> None:
    cmake = (
        "function (add_shop_test name)\n  add_test(NAME ${name} COMMAND ${name})\nendfunction ()\n"
    )
    cmake += "add_shop_test(rain-test)\nadd_shop_test(basket-test eggs.h)\n"
    make = "web-test:\n\tcd web && pnpm run test\n"
    files = {
        "src/basket.cc": "int basket() { return 1; }\n",
        "test/CMakeLists.txt": cmake,
        "test/Makefile": make,
    }
    write(tmp_path, {**files, "test/basket-test.cc": "TEST(basket, opens) { basket(); }\n"})
    (finding,) = found(tmp_path, "commands", "basket")
    assert finding.text == '`add_shop_test(basket-test eggs.h)`: "ctest -R basket-test"'
    assert finding.sources == ("test/CMakeLists.txt:5",)
    tox = "[testenv:lint]\ncommands = python -m lint {posargs}\n[testenv]\ncommands =\n"
    tox += "    python -bb -m shop.test {posargs:}\n"
    test = {
        "shop/basket.py": "def basket(): ...\n",
        "shop/test/basket_test.py": "def test_basket():\n    basket()\n",
    }
    write(tmp_path, {**test, "tox.ini": tox, "test/basket-test.cc": "", "src/basket.cc": ""})
    said = [finding.text for finding in found(tmp_path, "commands", "basket")]
    assert said[1:] == [
        '`python -bb -m shop.test {posargs:}`: "tox -e py -- shop.test.basket_test"'
    ]
    poms = dict.fromkeys(
        ("pom.xml", "shop/pom.xml"), "<project>\n  <artifactId>basket</artifactId>\n</project>\n"
    )
    test = {
        "shop/src/test/java/BasketTest.java": "class BasketTest {\n  @Test void basket() {}\n}\n"
    }
    write(tmp_path, {**poms, **test, "shop/test/basket_test.py": "", "shop/basket.py": ""})
    said = [finding.text for finding in found(tmp_path, "commands", "basket")]
    assert '"mvn -pl shop test -Dtest=BasketTest"' in said
    swift = {
        "Package.swift": "targets: [\n  .testTarget(name: 'Shop')\n]\n",
        "Sources/Basket.swift": "func basket() {}\n",
    }
    test = {
        "Tests/BasketTests.swift": "class BasketTestCase: XCTestCase {\n  func testBasket() { basket() }\n}\n"
    }
    rake = {
        "Rakefile": 'Rake::TestTask.new("test:all") do |t|\nend\n',
        "lib/basket.rb": "def basket\nend\n",
    }
    rake["test/spec_basket.rb"] = "describe 'basket' do\n  it 'opens' do\n    basket\n  end\nend\n"
    write(tmp_path, {**swift, **test, **rake})
    said = [finding.text for finding in found(tmp_path, "commands", "basket")]
    assert '"swift test --filter BasketTestCase"' in said
    assert (
        '`Rake::TestTask.new("test:all") do |t|`: "bundle exec rake test:all TEST=test/spec_basket.rb"'
        in said
    )


def test_checks_are_whole_commands_that_are_for_the_feature_s_tests(tmp_path: Path) -> None:
    runs = [
        "pytest -a -b -c -d --of=${{ matrix.nothing }}",
        "pytest -a -b -c -d $SOME",
        "pytest -a -b -c -d -k rain",
        "pytest -a -b -c -d ./other/",
        "pytest -a -b -c -d \\",
        "pytest -a -b ./tests/ -k basket",
        "pytest -a",
    ]
    ci = "jobs:\n  test:\n    steps:\n" + "".join(f"      - run: {run}\n" for run in runs)
    more = {".github/workflows/ci.yml": ci, "other/test_rain.py": "def test_rain(): ...\n"}
    test = {
        "shop/basket.py": "def basket(): ...\n",
        "tests/test_basket.py": "def test_basket():\n    basket()\n",
    }
    write(tmp_path, {**test, **more})
    (finding,) = found(tmp_path, "checks", "basket")
    assert finding.text == "CI runs `pytest -a -b ./tests/ -k basket`"
