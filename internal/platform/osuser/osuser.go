// Package osuser names the user of the operating system behind a process.
package osuser

import (
	"os"
	"os/user"
	"strconv"
	"strings"
)

// Current returns USER@HOST of the process. It takes both from the operating system and
// not from the environment, so that the caller of a command cannot choose them. A user
// without a name is "uid N".
func Current() string {
	name := "uid " + strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && u.Username != "" {
		name = u.Username
	} else if os.Getuid() < 0 { // no numbers on this system
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		return name
	}
	return name + "@" + host
}

// WithNote returns text for a person as the record names them, and the user behind the
// process if the name does not say so.
func WithNote(by, current string) string {
	if !Differs(by, current) {
		return by
	}
	return by + " (" + current + ")"
}

// Differs reports whether by is another name than that of the user current. Older records
// have no user.
func Differs(by, current string) bool {
	name, _, _ := strings.Cut(current, "@")
	return current != "" && by != name && by != current
}
