package hookfile

import (
	"os"
	"slices"
	"strings"
)

// passedOn lists the environment variables that hooks inherit. All others may contain credentials.
var passedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TMP", "TEMP", "TZ", "TERM", "LANG", "LANGUAGE",
	"SYSTEMROOT", "COMSPEC", "PATHEXT", "USERPROFILE",
}

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
