"""What neither the compiler nor clang-format nor clang-tidy checks. TAP, one test for each rule.

usage: check_style.py SOURCE_ROOT LIBEXECUTORS_A LIBCLIENTS_A
"""

import pathlib
import re
import subprocess
import sys

# A layer may include the project's headers of these folders, and these libraries' headers.
MAY_INCLUDE = {
    "executors": {"executors"},
    "clients": {"clients", "executors"},
    "handlers": {"handlers", "clients", "executors"},
    "server": {"server", "handlers", "clients", "executors"},
    "tests": {"tests", "server", "handlers", "clients", "executors"},
    "loadtests": {"loadtests", "server", "handlers", "clients", "executors"},
}
LIBRARY_FOLDERS = {
    "h2o": {"server"},
    "curl": {"clients", "tests"},
    "jansson": {"handlers", "server", "tests"},
    "openssl": {"clients", "server"},
}
BANNED = ["alloca", "atoi", "atol", "gets", "pthread_detach", "sleep", "sprintf", "strcat", "strcpy",
          "strtok", "system", "usleep", "vsprintf"]
FOREIGN_SYMBOLS = re.compile(r"\b(curl_|h2o_|json_|phr_|SSL_|EVP_|X509_)\w+")
# clients/ uses the parser that libh2o exports (phr.h), and nothing else of it.
FOREIGN_SYMBOLS_TO_CLIENTS = re.compile(r"\b(h2o_|json_)\w+")
LONGEST_FILE = 600

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
STRING_OR_COMMENT = re.compile(
    r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)


class Source:
    def __init__(self, root, path):
        self.name = str(path.relative_to(root))
        self.layer = self.name.split("/")[0]
        self.text = path.read_text()
        # Code alone: strings and comments are emptied, lines stay where they are.
        self.code = STRING_OR_COMMENT.sub(lambda match: "\n" * match[0].count("\n"), self.text)

    def at(self, offset, text):
        return f"{self.name}:{text.count(chr(10), 0, offset) + 1}"

    def matches(self, pattern, text):
        for match in re.finditer(pattern, text):
            yield self.at(match.start(), text), match


def banned_functions(source):
    for place, match in source.matches(r"\b(" + "|".join(BANNED) + r")\s*\(", source.code):
        yield f"{place}: {match[1]}"
    for place, _ in source.matches(r"(?<!asm )(?<!asm__ )\bvolatile\b", source.code):
        yield f"{place}: volatile"


def notes_to_self(source):
    for place, match in source.matches(r"\b(TODO|FIXME|XXX|HACK)\b", source.text):
        yield f"{place}: {match[1]}"


def long_files(source):
    lines = source.text.count("\n")
    if lines > LONGEST_FILE:
        yield f"{source.name}: {lines} lines"


def includes_the_wrong_way(source):
    for place, match in source.matches(INCLUDE, source.text):
        folder = match[2].split("/")[0]
        if match[1] == '"' and folder not in MAY_INCLUDE[source.layer]:
            yield f"{place}: {match[2]}"


def library_headers_out_of_place(source):
    for place, match in source.matches(INCLUDE, source.text):
        library = re.split(r"[/.]", match[2])[0]
        if match[1] == "<" and source.layer not in LIBRARY_FOLDERS.get(library, {source.layer}):
            yield f"{place}: {match[2]}"


def wrong_include_guards(source):
    guard = re.sub(r"[/.]", "_", source.name).upper()
    if source.name.endswith(".h") and f"#ifndef {guard}\n#define {guard}\n" not in source.text:
        yield f"{source.name}: no guard {guard}"


def conditionals_inside_functions(source):
    depth = 0
    for number, line in enumerate(source.code.splitlines(), 1):
        if depth > 0 and re.match(r"\s*#\s*if", line):
            yield f"{source.name}:{number}: {line.strip()}"
        depth += line.count("{") - line.count("}")


def foreign_symbols(library, foreign):
    symbols = subprocess.run(["nm", "-u", library], capture_output=True, text=True, check=True).stdout
    return sorted({match[0] for match in foreign.finditer(symbols)})


RULES = [banned_functions, notes_to_self, long_files, includes_the_wrong_way, library_headers_out_of_place,
         wrong_include_guards, conditionals_inside_functions]


def main():
    root = pathlib.Path(sys.argv[1])
    sources = [Source(root, path) for layer in MAY_INCLUDE
               for path in sorted((root / layer).rglob("*.[ch]"))]
    results = [(rule.__name__, [fault for source in sources for fault in rule(source)]) for rule in RULES]
    results.append(("foreign_symbols_in_libexecutors", foreign_symbols(sys.argv[2], FOREIGN_SYMBOLS)))
    results.append(("foreign_symbols_in_libclients", foreign_symbols(sys.argv[3], FOREIGN_SYMBOLS_TO_CLIENTS)))

    print(f"1..{len(results)}")
    for number, (name, faults) in enumerate(results, 1):
        print("not ok" if faults else "ok", number, "-", "no " + name.replace("_", " "))
        for fault in faults:
            print("#", fault)


if __name__ == "__main__":
    main()
