package policy

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// place is where a path leads.
type place int

const (
	placeInside   place = iota // below the working directory
	placeTemp                  // in a directory for temporary files
	placeOutside               // anywhere else
	placeCritical              // a whole system, home, project or its history
	placeUnknown               // cannot be known
)

// temps are directories for temporary files.
var temps = []string{"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders", "/dev/shm"}

// homes are directories whose entries are homes.
var homes = []string{"/home", "/Users"}

// placeOf tells where word leads for a command that runs in dir, when the text
// was started in root ("" is not known). Links are not followed.
func placeOf(word shell.Word, dir, root string) place {
	text, glob := word.Text, word.Glob
	if i := strings.Index(text, shell.Hole); i >= 0 {
		if i > 0 && !word.Open && placeOf(shell.Word{Text: path.Dir(text[:i] + "x")}, dir, root) == placeTemp {
			return placeTemp
		}
		return placeUnknown
	}
	full := slashed(text)
	if !path.IsAbs(full) {
		if strings.Contains(dir, shell.Hole) {
			return unknownDir(text, glob)
		}
		full = dir + "/" + full
		if !path.IsAbs(dir) {
			full = "./" + full
		}
	}
	return placeOfPath(path.Clean(full), glob, dir, root)
}

// slashed turns a path of Windows into one that begins with a slash.
func slashed(text string) string {
	if len(text) > 2 && text[1] == ':' && (text[2] == '/' || text[2] == '\\') && unicode.IsLetter(rune(text[0])) {
		return "/" + strings.ReplaceAll(text, `\`, "/")
	}
	return text
}

// unknownDir places a relative path below a directory that is not known.
func unknownDir(text string, glob bool) place {
	clean := path.Clean(text)
	if clean == "." || strings.HasPrefix(clean, "..") || glob && matchesAll(path.Base(clean)) || historyOf(clean, glob) {
		return placeCritical
	}
	return placeUnknown
}

// placeOfPath places a clean path.
func placeOfPath(full string, glob bool, dir, root string) place {
	relative := full
	if path.IsAbs(full) {
		if isTemp(full) {
			return placeTemp
		}
		if root == "" {
			root = project(dir)
		}
		rest, ok := below(full, root)
		if !ok {
			return outside(full, glob)
		}
		relative = rest
	}
	switch {
	case strings.Trim(relative, "./") == "":
		return placeCritical // the project, or what it lies in
	case strings.HasPrefix(relative, "../"):
		return placeOutside
	case glob && !strings.Contains(relative, "/") && matchesAll(relative), historyOf(relative, glob):
		return placeCritical
	}
	return placeInside
}

// project returns the directory that "cd" made the working directory, unless it
// is one that no project is.
func project(dir string) string {
	if !path.IsAbs(dir) || outside(dir, false) == placeCritical {
		return ""
	}
	return dir
}

// below returns full as seen from base.
func below(full, base string) (string, bool) {
	switch {
	case base == "":
		return "", false
	case full == base:
		return ".", true
	}
	return strings.CutPrefix(full, strings.TrimSuffix(base, "/")+"/")
}

// outside tells whether a path outside the project is one that nobody means to
// remove: a directory of the system, a home, or all that is in one.
func outside(full string, glob bool) place {
	parent, last := path.Split(full)
	parent = path.Clean(parent)
	if glob && matchesAll(last) {
		full, parent = parent, path.Dir(parent)
	}
	if parent == "/" || full == "/" || slices.Contains(homes, parent) {
		return placeCritical
	}
	return placeOutside
}

// isTemp tells whether full is in a directory for temporary files, or is one.
func isTemp(full string) bool {
	for _, t := range temps {
		if full == t || strings.HasPrefix(full, t+"/") {
			return true
		}
	}
	return false
}

// matchesAll tells whether a pattern of names takes everything.
func matchesAll(pattern string) bool {
	return strings.Contains(pattern, "*") && strings.Trim(pattern, "*?.") == ""
}

// historyOf tells whether a path below a project is its history, or a pattern
// that takes it.
func historyOf(relative string, glob bool) bool {
	parent, last := path.Split(relative)
	if glob && parent == "" && strings.HasPrefix(last, ".") {
		ok, err := path.Match(strings.ReplaceAll(last, "[!", "[^"), ".git")
		return ok || err != nil
	}
	if strings.EqualFold(last, ".git") {
		return true
	}
	if strings.EqualFold(path.Base(parent), ".git") {
		switch last {
		case "objects", "refs", "logs", "HEAD", "packed-refs", "*":
			return true
		}
	}
	return false
}
