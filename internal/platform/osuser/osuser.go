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
	if os.Getuid() < 0 { // no numbers on this system
		if u, err := user.Current(); err == nil {
			return at(u.Username)
		}
	}
	return Named(os.Getuid())
}

// Named returns USER@HOST of the user with a number.
func Named(uid int) string {
	number := strconv.Itoa(uid)
	if u, err := user.LookupId(number); err == nil && u.Username != "" {
		return at(u.Username)
	}
	return at("uid " + number)
}

// at adds the host to a name.
func at(name string) string {
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
