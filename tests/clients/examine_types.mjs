// Names the files of ours that programs consist of, then what is wrong in them. The many lines about Node are not examined.
import ts from "typescript";

const { options } = ts.convertCompilerOptionsFromJson(JSON.parse(process.env.OPTIONS), ".");
const program = ts.createProgram(process.env.FILES.split(" "), options);
const isOurs = ({ fileName }) => !/node_modules\/(typescript|@types|undici-types)\//.test(fileName);
const ours = program.getSourceFiles().filter(isOurs);
console.log(ours.map(({ fileName }) => fileName.split("/").at(-1)).join(" "));

const found = [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()];
for (const file of ours) found.push(...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file));
const host = { getCurrentDirectory: () => ".", getCanonicalFileName: (name) => name, getNewLine: () => "\n" };
console.log(ts.formatDiagnostics(found, host));
