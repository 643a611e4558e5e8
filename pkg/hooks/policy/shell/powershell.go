package shell

import (
	"slices"
	"strings"
)

// The options of PowerShell, which takes any beginning of one for it.
const (
	psCommand = "commandwithargs"
	psEncoded = "encodedcommand"
	psFile    = "file"
)

// psSwitches are its options without a value.
var psSwitches = []string{"noprofile", "noninteractive", "nologo", "noexit", "sta", "mta", "login", "interactive"}

// powershell follows PowerShell: the code behind -Command is all that is left.
func (w *walker) powershell(name string, args []Word, st *state, in input) {
	st = st.child()
	dashes := "-\u2013\u2014\u2015"
	if name == "powershell" {
		dashes += "/"
	}
	for len(args) > 0 {
		option := strings.ToLower(strings.TrimLeft(args[0].Text, dashes))
		begins := func(full string) bool { return strings.HasPrefix(full, option) }
		switch {
		case option == "": // "-"
			w.reads(st, in)
			return
		case len(option) == len(args[0].Text): // no dash
			if name == "powershell" { // pwsh takes it for a file
				w.script(join(args), st)
			}
			return
		case begins(psCommand), option == "cwa":
			w.script(join(args[1:]), st)
			return
		case begins(psEncoded), option == "ec":
			w.out.doubt(DoubtCode)
			return
		case begins(psFile):
			return
		case slices.ContainsFunc(psSwitches, begins):
			args = args[1:]
		default:
			args = args[min(2, len(args)):]
		}
	}
	w.reads(st, in)
}
