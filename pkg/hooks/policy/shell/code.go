package shell

import (
	"regexp"
	"strings"
)

// starts matches a call that runs its argument as a command or as code, such as os.system. It must
// not match other methods with such a name, such as RegExp.exec.
var starts = regexp.MustCompile(`\b(?:os\.(?:system|popen|exec\w+|spawn\w+)|subprocess\.(?:run|call|Popen|check_call|check_output|getoutput)|` +
	`(?:execSync|spawnSync|execFileSync)|child_process['"]?\)?\.(?:exec|spawn|execFile)|Kernel\.(?:system|exec))\s*\(\s*` +
	`|(?:^|[^.\w])(?:eval|exec|system|passthru|shell_exec|proc_open|popen|Function)\s*\(\s*`)

// known matches the beginning of an argument whose value the code shows, such as a string literal.
var known = regexp.MustCompile("^(?:[rbuRBU]{0,2}['\"`][^'\"`]|\\[|\\)|args\\b|q\\w?\\b)")

// startsUnknown reports whether code runs a command or code that it does not contain, as in
// os.system(open("c").read()).
func startsUnknown(code string) bool {
	for _, at := range starts.FindAllStringIndex(code, -1) {
		if rest := code[at[1]:]; !known.MatchString(rest) || composed.MatchString(rest) {
			return true
		}
	}
	return startsBare.MatchString(code)
}

// composed matches a string literal that the code extends, as in "rm " + name. The single "^" lets
// the search end behind the literal.
var composed = regexp.MustCompile("^(?:[rbuRBU]{0,2}(?:'[^'\n]*'|\"[^\"\n]*\"|`[^`]*`)\\s*(?:\\+|%|\\.(?:format|join|concat)|\\. ?\\$)|`[^`]*\\$\\{)")

// startsBare matches Perl, Ruby and awk code that runs the value of a variable. It also matches a
// loop that forks.
var startsBare = regexp.MustCompile(`\b(?:eval|system|exec)\s+(?:[$@]\w|[A-Z]\w*[.:]|<)|\bfork\s+while\b|\bwhile\b[^\n]*[\n\s:{;]\s*(?:os\.)?fork\b|\|\s*"(?:sh|bash)"|qx\{?\s*\$`)

// Literals returns the quoted strings in code of a language other than the shell.
func Literals(code string) []string {
	var texts []string
	for _, lit := range literals(code) {
		texts = append(texts, lit.text)
	}
	return texts
}

// windowsShell analyses cmd.exe, which passes the words after /c to its own shell.
func windowsShell(p *process) {
	for i, a := range p.args {
		if option := strings.ToLower(a.Text); option == "/c" || option == "/k" {
			p.w.script(windowsPaths.Replace(join(p.args[i+1:])), p.st.child())
			return
		}
	}
	p.reads()
}

func runLater(p *process) {
	p.st = p.st.child()
	p.reads()
}
