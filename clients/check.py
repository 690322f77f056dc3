"""`make client-check`: a public generator takes our OpenAPI document, and its clients compile where a compiler is here.

Slow, and it installs the generator (with its own Java archive) into a temporary folder; so it is no part of the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from generator.__main__ import document
from tidegate.infra.http.operation import encode

GENERATOR = "openapi-generator-cli"
# Generator, the program that compiles, and how, in the folder of the client.
TARGETS = {
    "go": ("go", ["go", "vet", "."]),
    "php": ("php", ["sh", "-c", "find lib -name '*.php' -print0 | xargs -0 -n1 php -l"]),
    "java": ("mvn", ["mvn", "-q", "compile"]),
    "csharp": ("dotnet", ["dotnet", "build", "src/Org.OpenAPITools"]),
}
# Two lists may have the same value; Go needs different names for them. Java's own HTTP client needs fewest libraries.
OPTIONS = {
    "go": ["--additional-properties", "enumClassPrefix=true"],
    "java": ["--library", "native", "--additional-properties", "openApiNullable=false,useJakartaEe=true"],
    "csharp": ["--library", "httpclient", "--additional-properties", "targetFramework=netstandard2.1"],
}
# A folder with Jackson, jsr305 and jakarta.annotation, where Maven cannot fetch them.
JARS = os.environ.get("JARS")
if JARS:
    TARGETS["java"] = ("javac", ["sh", "-c", f"javac -nowarn -cp '{JARS}/*' -d made $(find src/main -name '*.java')"])
# A folder with a .NET SDK, where NuGet cannot be reached: its compiler and its Newtonsoft.Json. What the client uses of
# Polly is declared here.
SDK = os.environ.get("DOTNET_SDK")
POLLY = """namespace JsonSubTypes {}
namespace Polly {
  using System; using System.Threading.Tasks;
  public enum OutcomeType { Successful, Failure }
  public interface PolicyResult<T> { OutcomeType Outcome { get; } T Result { get; } Exception FinalException { get; } }
  public interface ISyncPolicy<T> { PolicyResult<T> ExecuteAndCapture(Func<T> work); }
  public interface IAsyncPolicy<T> { Task<PolicyResult<T>> ExecuteAndCaptureAsync(Func<Task<T>> work); }
}
"""
if SDK:
    compiler = f"{SDK}/dotnet $(find {SDK}/sdk -path '*bincore/csc.dll')"
    known = f"$(ls {SDK}/packs/Microsoft.NETCore.App.Ref/*/ref/*/*.dll {SDK}/sdk/*/Newtonsoft.Json.dll | sed s/^/-r:/)"
    sources = "Polly.cs $(find src/Org.OpenAPITools -name '*.cs')"
    command = (
        f"echo '{POLLY}' > Polly.cs; {compiler} -nologo -target:library -nowarn:CS1591 -out:made.dll {known} {sources}"
    )
    TARGETS["csharp"] = ("sh", ["sh", "-c", command])
WITHIN_S = 600


def run(command: list[str], folder: Path) -> tuple[bool, str]:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=WITHIN_S)
    return done.returncode == 0, (done.stdout + done.stderr)[-2000:]


def main() -> int:
    if shutil.which("java") is None:
        print("The generator needs Java, which is not here.")
        return 1
    failed = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "openapi.json").write_bytes(encode(document().raw))
        tools = folder / "tools"
        is_well, said = run([sys.executable, "-m", "pip", "install", "-q", "--target", str(tools), GENERATOR], folder)
        if not is_well:
            print(f"{GENERATOR} could not be installed:\n{said}")
            return 1
        jar = next(tools.rglob("*.jar"))
        generate = ["java", "-jar", str(jar)]
        is_well, said = run([*generate, "validate", "-i", "openapi.json"], folder)
        print(f"document: {'valid' if is_well else said}")
        failed += not is_well
        for name in sys.argv[1:] or TARGETS:
            program, command = TARGETS[name]
            failed += not check(name, program, command, generate, folder)
    return min(failed, 1)


def check(name: str, program: str, command: list[str], generate: list[str], folder: Path) -> bool:
    options = OPTIONS.get(name, [])
    is_well, said = run([*generate, "generate", "-g", name, "-i", "openapi.json", "-o", name, *options], folder)
    if not is_well:
        print(f"{name}: not generated\n{said}")
        return False
    if shutil.which(program) is None:
        print(f"{name}: generated; there is no {program} here to compile it")
        return True
    is_well, said = run(command, folder / name)
    if "could not be resolved" in said or "NU1301" in said:
        print(f"{name}: generated; the libraries that it needs cannot be fetched here, so it was not compiled")
        return True
    print(f"{name}: generated, {'compiles' if is_well else 'does not compile'}{'' if is_well else chr(10) + said}")
    return is_well


if __name__ == "__main__":
    sys.exit(main())
