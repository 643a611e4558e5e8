package shell

import (
	"regexp"
	"strings"
)

var starts = regexp.MustCompile(`\b(?:os\.(?:system|popen|exec\w+|spawn\w+)|subprocess\.(?:run|call|Popen|check_call|check_output|getoutput)|` +
	`(?:execSync|spawnSync|execFileSync)|child_process['"]?\)?\.(?:exec|spawn|execFile)|Kernel\.(?:system|exec))\s*\(\s*` +
	`|(?:^|[^.\w])(?:eval|exec|system|passthru|shell_exec|proc_open|popen|Function)\s*\(\s*`)

var known = regexp.MustCompile("^(?:[rbuRBU]{0,2}['\"`][^'\"`]|\\[|\\)|args\\b|q\\w?\\b)")

func startsUnknown(code string) bool {
	for _, at := range starts.FindAllStringIndex(code, -1) {
		if rest := code[at[1]:]; !known.MatchString(rest) || composed.MatchString(rest) {
			return true
		}
	}
	return startsBare.MatchString(code)
}

var composed = regexp.MustCompile("^(?:[rbuRBU]{0,2}(?:'[^'\n]*'|\"[^\"\n]*\"|`[^`]*`)\\s*(?:\\+|%|\\.(?:format|join|concat)|\\. ?\\$)|`[^`]*\\$\\{)")

var startsBare = regexp.MustCompile(`\b(?:eval|system|exec)\s+(?:[$@]\w|[A-Z]\w*[.:]|<)|\bfork\s+while\b|\bwhile\b[^\n]*[\n\s:{;]\s*(?:os\.)?fork\b|\|\s*"(?:sh|bash)"|qx\{?\s*\$`)

// Literals returns the quoted strings in code of a language other than the shell.
func Literals(code string) []string {
	var texts []string
	for _, lit := range literals(code) {
		texts = append(texts, lit.text)
	}
	return texts
}

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
