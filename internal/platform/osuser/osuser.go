// Package osuser returns the operating system user who runs a process.
package osuser

import (
	"os"
	"os/user"
	"strconv"
	"strings"
)

// Current returns the user of this process as USER@HOST. It ignores the environment, which the user
// can change. Without a name, USER is "uid N".
func Current() string {
	if os.Getuid() < 0 { // this system has no user ids
		if u, err := user.Current(); err == nil {
			return at(u.Username)
		}
	}
	return Named(os.Getuid())
}

// Named returns USER@HOST for a user id.
func Named(uid int) string {
	number := strconv.Itoa(uid)
	if u, err := user.LookupId(number); err == nil && u.Username != "" {
		return at(u.Username)
	}
	return at("uid " + number)
}

func at(name string) string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return name
	}
	return name + "@" + host
}

// WithNote returns the name that a person entered. If the system user current differs from that
// name, it follows in parentheses.
func WithNote(name, current string) string {
	if !Differs(name, current) {
		return name
	}
	return name + " (" + current + ")"
}

// Differs reports whether by, a name that a person entered, differs from current. current is the
// system user as USER@HOST, and by may lack the host.
func Differs(by, current string) bool {
	name, _, _ := strings.Cut(current, "@")
	return current != "" && by != name && by != current
}
