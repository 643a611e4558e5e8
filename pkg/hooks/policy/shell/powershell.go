package shell

import (
	"slices"
	"strings"
)

// Full names of PowerShell options. PowerShell also accepts every prefix of a name.
const (
	psCommand = "commandwithargs"
	psEncoded = "encodedcommand"
	psFile    = "file"
)

var windowsPaths = strings.NewReplacer(`\`, "/")

var psSwitches = []string{"noprofile", "noninteractive", "nologo", "noexit", "sta", "mta", "login", "interactive"}

func (p *process) powershell() {
	p.st = p.st.child()
	args := p.args
	dashes := "-\u2013\u2014\u2015"
	if p.name == "powershell" {
		dashes += "/"
	}
	for len(args) > 0 {
		option := strings.ToLower(strings.TrimLeft(args[0].Text, dashes))
		begins := func(full string) bool { return strings.HasPrefix(full, option) }
		switch {
		case option == "": // a single "-" reads code from standard input
			p.reads()
			return
		case len(option) == len(args[0].Text): // an operand, because it does not begin with a dash
			if p.name == "powershell" { // pwsh expects the name of a file here
				p.w.script(join(args), p.st)
			}
			return
		case begins(psCommand), option == "cwa":
			p.w.script(windowsPaths.Replace(join(args[1:])), p.st)
			return
		case begins(psEncoded), option == "ec":
			p.w.out.doubt(DoubtCode)
			return
		case begins(psFile):
			return
		case slices.ContainsFunc(psSwitches, begins):
			args = args[1:]
		default:
			args = args[min(2, len(args)):]
		}
	}
	p.reads()
}
