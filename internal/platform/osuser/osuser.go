// Package osuser returns the operating system user who runs a process.
package osuser

import (
	"os"
	"os/user"
	"strconv"
	"strings"
)

// Current returns the user of this process as USER@HOST. It asks the operating system and does not
// read the environment, because the caller of a command can choose environment variables. For a
// user without a name, USER is "uid N".
func Current() string {
	if os.Getuid() < 0 { // this system has no user ids
		if u, err := user.Current(); err == nil {
			return at(u.Username)
		}
	}
	return Named(os.Getuid())
}

// Named returns USER@HOST for the user with the id uid.
func Named(uid int) string {
	number := strconv.Itoa(uid)
	if u, err := user.LookupId(number); err == nil && u.Username != "" {
		return at(u.Username)
	}
	return at("uid " + number)
}

// at appends "@" and the name of this host to name.
func at(name string) string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return name
	}
	return name + "@" + host
}

// WithNote returns by, the name that a person gave for the record. If it is not the name of the
// system user current, WithNote adds current in parentheses.
func WithNote(by, current string) string {
	if !Differs(by, current) {
		return by
	}
	return by + " (" + current + ")"
}

// Differs reports whether by is neither current nor the name in current, which has the form
// USER@HOST. If current is empty, as in older records, it returns false.
func Differs(by, current string) bool {
	name, _, _ := strings.Cut(current, "@")
	return current != "" && by != name && by != current
}
