package hookfile

import (
	"os"
	"slices"
	"strings"
)

// passedOn are the variables that a program gets: what it needs to run, and
// nothing that could be a credential. Everything else is kept from it.
var passedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TMP", "TEMP", "TZ", "TERM", "LANG", "LANGUAGE",
	"SYSTEMROOT", "COMSPEC", "PATHEXT", "USERPROFILE",
}

// environment returns what a program gets of our environment.
func environment() []string {
	var env []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if slices.Contains(passedOn, strings.ToUpper(name)) || strings.HasPrefix(name, "LC_") {
			env = append(env, variable)
		}
	}
	return env
}
