// Package flagenv sets flags from environment variables. It works without cobra, which a hook
// command does not link.
package flagenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

var natsVariables = map[string]string{ //nolint:gosec // names of variables
	"nats-url":   "NATS_URL",
	"nats-creds": "NATS_CREDS",
	"nats-nkey":  "NATS_NKEY",
	"nats-ca":    "NATS_CA",
	"nats-cert":  "NATS_CERT",
	"nats-key":   "NATS_KEY",
}

// NATSVariable returns the environment variable that the NATS tools use for a flag, such as
// NATS_URL for nats-url. It returns "" for other flags.
func NATSVariable(flag string) string { return natsVariables[flag] }

// DefaultDataDir returns $XDG_DATA_HOME/hooktrail. Without that variable, it returns
// ~/.local/share/hooktrail.
func DefaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hooktrail")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "hooktrail-data"
	}
	return filepath.Join(home, ".local", "share", "hooktrail")
}

// Name returns the name of a flag's environment variable, such as HOOKTRAIL_DATA_DIR.
func Name(flag string) string {
	return "HOOKTRAIL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// NameOf returns the name of the environment variable of f. It differs from [Name] only if [Own]
// has set another name.
func NameOf(f *pflag.Flag) string {
	if own := f.Annotations[ownAnnotation]; len(own) > 0 {
		return Name(own[0])
	}
	return Name(f.Name)
}

func variable(f *pflag.Flag) (name, value string) {
	for _, name := range []string{NameOf(f), natsVariables[f.Name]} {
		if name == "" {
			continue
		}
		if value := os.Getenv(name); value != "" {
			return name, value
		}
	}
	return formerly(f)
}

const (
	exclusiveAnnotation = "cobra_annotation_mutually_exclusive"

	setAnnotation      = "hooktrail_environment"
	ownAnnotation      = "hooktrail_own"
	acceptAnnotation   = "hooktrail_accept"
	lineOnlyAnnotation = "hooktrail_line_only"
	variableAnnotation = "hooktrail_variable"
)

// IsSet reports whether a variable has set f.
func IsSet(f *pflag.Flag) bool { return f.Annotations[setAnnotation] != nil }

// Set sets flags from environment variables. It skips a flag that is on the command line, and a
// flag that cannot be combined with one on the command line.
func Set(flags *pflag.FlagSet, warn func(string)) error {
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	isGiven := func(group string) bool {
		return slices.ContainsFunc(strings.Fields(group), func(name string) bool { return given[name] })
	}
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if given[f.Name] || !Has(f) || slices.ContainsFunc(f.Annotations[exclusiveAnnotation], isGiven) {
			return
		}
		name, value := variable(f)
		if name == "" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: value %q: %w", name, value, cause(err)))
			return
		}
		if now := NameOf(f); f.Annotations[ownAnnotation] != nil && name != now {
			warn(fmt.Sprintf("environment variable %s sets --%s of another command; use %s here", name, f.Name, now))
		}
		_ = flags.SetAnnotation(f.Name, setAnnotation, []string{name})
	})
	return errors.Join(errs...)
}

func cause(err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return invalid.Unwrap()
	}
	return err
}

// Has reports whether the environment can set f.
func Has(f *pflag.Flag) bool {
	if f.Annotations[variableAnnotation] != nil {
		return true
	}
	return f.Name != "help" && f.Name != "version" && f.Annotations[lineOnlyAnnotation] == nil && !slices.Contains(selections, f.Name)
}

// selections lists flags that select records. No environment variable can set them, because a
// forgotten variable could silently exclude records from a check.
var selections = []string{"run", "event", "from", "to", "day"} //nolint:gochecknoglobals // a constant

// LineOnly excludes flags from environment variables. Otherwise a variable that filters the output
// of one command could select the data that another command erases.
func LineOnly(flags *pflag.FlagSet, names ...string) { annotate(flags, lineOnlyAnnotation, names) }

// Variable lets environment variables set flags that other commands use to select records, such as
// --run. By default, such flags can only be set on the command line.
func Variable(flags *pflag.FlagSet, names ...string) { annotate(flags, variableAnnotation, names) }

func annotate(flags *pflag.FlagSet, annotation string, names []string) {
	for _, name := range names {
		_ = flags.SetAnnotation(name, annotation, []string{"true"})
	}
}

// Own gives a flag the environment variable of another flag name. Use it for a flag whose name has
// another meaning in another command.
//
// The variable of the flag's own name still works if its value is one of accepted.
func Own(flags *pflag.FlagSet, flag, name string, accepted ...string) {
	_ = flags.SetAnnotation(flag, ownAnnotation, []string{name})
	_ = flags.SetAnnotation(flag, acceptAnnotation, accepted)
}

func formerly(f *pflag.Flag) (name, value string) {
	if f.Annotations[ownAnnotation] == nil {
		return "", ""
	}
	name = Name(f.Name)
	value = os.Getenv(name)
	accepted := f.Annotations[acceptAnnotation]
	if value == "" || len(accepted) > 0 && !slices.Contains(accepted, value) {
		return "", ""
	}
	return name, value
}
