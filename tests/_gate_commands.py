"""Random Bash commands for fuzzing the gates: plain writes in every form, and lookalikes."""

import random
import re
import shlex

REDIRECTIONS = (">", ">>", ">|", "&>", "&>>", ">&", "2>", "1>>", "3>", "<", "<>", "2>&1 >")
HARMLESS = (
    "ls", "npx playwright test {}", "cat {} 2>&1 | tail -5", "git checkout main -- {}",
    "python3 -c 'open(\"{}\", \"w\")'",
    "echo \"a > {}\"", "echo 'x > {}'", "echo a \\> {}", "ls # > {}", "[[ a > {} ]]", "(( a > 3 ))",
    "touch -c {}",
    "bash x.sh -c 'echo > {}'", "git checkout -- {}", "git rm --cached {}", "git mv -n a {}",
    "patch -p1 < {}", "patch --dry-run {}", "install -d {}", "curl -fsS https://x/{}",
    "curl -d {} https://x/a", "wget -qO- {}", "perl -ne print {}", "perl -i -e 1 {}", "sort {}",
    "sort -k {}", "truncate -c -s 0 {}", "dd if={}", "npm install {}", "cp --parents {} {}",
    "xargs touch < {}", "git -c user.name=x rm", "ed -s {}", "rsync -a {} {}",
    "x=$(echo > {})", "echo `cat > {}`", "wc < {}", "diff <(cat {}) x",
    "cat <<< {}", "rm {}",
    "cat {} >/dev/null", "cat {} > /dev/null 2>&1", "cat {} >&2", "command -v tee {}",
    "echo tee {}", "sed -n p {}",
    "true",
    "sed 's/i/-i/' {}", "preread gates test {}", "preread gates on", "echo preread gates off", "preread init",
    "git commit -m 'cp a {}'",
    "echo $((1 > 0)) {}", "a=(1 2 3)", "grep -r '>' {}", "echo \"$(echo '>' {})\"",
    "echo $'it\\'s > {}'", "cd",
    "cd -", "popd",
    "x=1", "eval 'cat > {}'", "echo a#b {}", "tee", "sed -i", "cp {}", "mv {}", "rm -rf",
    "echo {} >&-",
    "PREREAD_GATES=off claude -p x", "echo \"${x:-a > {}}\"",
)  # fmt: skip
WRITES = (
    "touch {}", "touch -d now {}", "touch -r {} -- {}",
    "tee {}", "tee -a {} {}", "tee -- {}", "tee /dev/null {} > /dev/null", "cp a.ts {}",
    "cp -f {} {}", "cp {} {} {}", "cp -rt {} {}", "cp -S .bak {} {}", "mv -T {} {}",
    "dd of={}", "dd if=/dev/null of={} bs=1", "truncate -s 0 {}", "truncate -cs0 {} {}",
    "install -m 644 {} {}", "install -D -t {} {}", "ln -s {} {}", "ln -sf {}", "ln -sfn {} {}",
    "curl -sSLo {} https://x/y", "curl -o {} --output-dir sub https://x/y",
    "curl -O https://x/tests/login.spec.ts", "curl -OJ https://x/login.spec.ts",
    "wget -qO {} https://x", "wget --output-document={} x", "sponge {}", "sort -uo {} {}",
    "perl -pi -e s/a/b/ {}", "perl -0777 -i.bak -pe s/a/b/ {} {}", "perl -ni {} {}",
    "patch {} x.diff", "patch -d sub {}", "patch -p1 -o {}", "git mv a.ts {}", "git mv {} {}",
    "git -C sub mv a.ts {}", "git -c a=b rm -r {}", "unlink {}", "bash -c 'tee x {}'",
    "bash -euo pipefail -c 'cd sub; > login.spec.ts'", "sh -c {}", "dash -lc \"cp a {}\"",
    "cp -t {} {}", "cp --target-directory={} {}", "cp -- {} {}", "mv a.ts {}", "mv {} {}",
    "mv -f {} /tmp/nowhere/x",
    "sed -i s/a/b/ {}", "sed -i '' s/a/b/ {}", "sed -i '' -e s/a/b/ {}", "sed -Ei.bak s/a/b/ {} {}",
    "sed -i.bak -f x {}",
    "sed --in-place -e x {}", "sed --in-place=.o --expression x {}", "sed -ni p {}",
    "sed s/a/b/ -i {}",
    "sed -e x -i {}",
    "sed -i \"s/$a/b/\" {}", "sed -i -- s/a/b/ {}", "rm -rf {}", "rm -- {}", "rm -f {} {}",
    "preread gates off", "preread init --undo", "python3 -m preread init --json --undo",
    "preread --project {} gates off --for 2h", "python3 -m preread gates off",
    "/opt/x/preread gates --for 1h off",
    "/usr/bin/tee {}", "\\cp a {}", "'tee' {}", "t\"e\"e {}", "cd {}", "cd -P {}", "pushd {}",
    "cd {} && > login.spec.ts",
)  # fmt: skip
PREFIXES = (
    "",
    "",
    "",
    "",
    "",
    "sudo ",
    "sudo -u bob ",
    "env X=1 ",
    "env -u A B=2 ",
    "command ",
    "time ",
    "X=1 ",
    "exec ",
    "nohup ",
    "timeout 5 ",
    "timeout -k 3 -s KILL 5s ",
    "nice -n 5 ",
    "stdbuf -o L ",
    "xargs ",
    "xargs -0 -n 1 ",
    "xargs -I{} ",
    "xargs -I a ",
    "! ",
)
# Here-documents in command substitutions: how commit messages are written.
MESSAGES = (
    "git commit -m \"$(cat <<{0}\n{1}\n{2}\n)\"", "x=$(cat <<{0} | tr a b\n{1}\n{2}\n)",
    "echo \"$((1 << 2)) {3}\"",
    "echo $(cat <<{0}; cat <<< {3}\n{1}\n{2}\n)", "echo $( (cat <<{0})\n{1}\n{2}\n)",
)  # fmt: skip
LINES = (
    "it's",
    '1) see "x -> {}" ok',
    "> {}",
    'a "b',
    ":-)",
    "(",
    "tee {}",
    "\\",
    "# x",
    "<<X",
    "$(touch pwned)",
)
AROUND = (
    "( {} )", "{{ {}; }}", "if true; then {}; fi", "if {}; then :; else {}; fi",
    "for i in 1 2; do {}; done",
    "while read -r l; do {}; done < in", "until false; do\n{}\ndone",
    "case $x in a|b) {};; *) {};; esac",
    "f() {{ {}; }}",
    "function g {{ {}; }}", "{{\n{}\n}} > {{target}}", "( {} ) >> {{target}}",
    "for ((i=0;i<3;i++)); do {}; done",
    "while :; do {}; done > {{target}}", "if :; then {}; elif :; then {}; fi", "! {}",
    "time {{ {}; }}",
)  # fmt: skip
JOINTS = (" && ", "; ", " || ", " | ", "\n", " ;", "&&", " |& ", "|", " \\\n && ", "\n\n", " & ")
NOT_LITERAL = (
    "$X/{}",
    "{}$X",
    "$(pwd)/{}",
    "`touch pwned`{}",
    "~/{}",
    "{{a,b}}{}",
    "{}*",
    "$(touch pwned)",
    "[ab]{}",
    '"$PWD/"{}',
)
DEPTH = 2
DELIMITERS = ("EOF", "'EOF'", '"EOF"', "\\EOF", "E-O_F")


class Commands:
    """Makes commands whose targets come from `path`, a function."""

    def __init__(self, rng: random.Random, paths: list[str]) -> None:
        self.rng, self.paths = rng, paths

    def target(self) -> str:
        """A path as one word of the shell, mostly a literal one."""
        rng, path = self.rng, self.rng.choice(self.paths)
        if rng.random() < 0.1:
            return rng.choice(NOT_LITERAL).format(path if re.fullmatch(r"[\w./-]+", path) else "x")
        how = rng.random()
        if how < 0.5:
            return shlex.quote(path)
        if how < 0.7:
            return '"' + re.sub(r'([$`"\\])', r"\\\1", path) + '"'
        if how < 0.85 and "\n" not in path:
            return re.sub(r"([^\w./-])", r"\\\1", path, flags=re.ASCII)
        cut = rng.randint(0, len(path))
        return shlex.quote(path[:cut]) + '""' + shlex.quote(path[cut:])

    def filled(self, text: str) -> str:
        return re.sub(r"\{\}", lambda _: self.target(), text)

    def simple(self) -> str:
        rng = self.rng
        how = rng.random()
        if how < 0.3:
            text = self.filled(rng.choice(HARMLESS))
        elif how < 0.65:
            text = rng.choice(PREFIXES) + self.filled(rng.choice(WRITES))
        elif how < 0.8:
            delimiter = rng.choice(DELIMITERS)
            operator = rng.choice(("<<", "<<", "<< ", "<<-"))
            body = "\n".join(
                rng.choice(("x", "> {}", "tee {}", "\t$(touch pwned)", "it's", "EOFx"))
                for _ in range(3)
            )
            end = ("\t" if operator == "<<-" else "") + delimiter.strip("'\"\\")
            place = rng.choice(("cat {} > {}", "cat > {1} {0}", "tee {1} {0} >/dev/null"))
            text = (
                place.format(operator + delimiter, self.target())
                + "\n"
                + self.filled(body)
                + "\n"
                + end
                + "\n"
            )
        elif how < 0.85:
            delimiter = rng.choice(DELIMITERS)
            body = self.filled("\n".join(rng.choice(LINES) for _ in range(rng.choice((1, 2, 3)))))
            text = rng.choice(MESSAGES).format(
                delimiter, body, delimiter.strip("'\"\\"), self.target()
            )
        else:
            text = rng.choice(PREFIXES) + "echo x"
        if how >= 0.8 or (how < 0.65 and rng.random() < 0.15):
            text += (
                rng.choice((" ", ""))
                + rng.choice(REDIRECTIONS)
                + rng.choice((" ", ""))
                + self.target()
            )
        return text

    def compound(self, depth: int) -> str:
        text = self.rng.choice(AROUND)
        inner = re.sub(r"(?<!\{)\{\}(?!\})", lambda _: self.text(depth - 1), text)
        inner = re.sub(r"\n *;(?!;)", "\n", inner)  # after a here-document no other end is needed
        return inner.replace("{{target}}", self.target()).replace("{{", "{").replace("}}", "}")

    def text(self, depth: int = DEPTH) -> str:
        rng = self.rng
        if depth == DEPTH and rng.random() < 0.3:  # one write and nothing else
            return self.filled(rng.choice(WRITES))
        parts = [
            self.compound(depth) if depth and rng.random() < 0.25 else self.simple()
            for _ in range(rng.choice((1, 1, 2, 3)))
        ]
        text = parts[0]
        for part in parts[1:]:
            text += ("" if text.endswith("\n") else rng.choice(JOINTS)) + part
        if depth == DEPTH and rng.random() < 0.03:
            text += rng.choice(
                ("; echo 'x", '\necho "x', "; echo `x", " # it's", "\n)", "; echo $(x")
            )
        return text
