package policy

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

type location int

const (
	locationInside   location = iota // below the working directory
	locationTemp                     // in a temporary directory
	locationOutside                  // anywhere else
	locationCritical                 // a system directory, a home, the whole project or its Git history
	locationUnknown                  // cannot be known before the command runs
)

var temps = []string{"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders", "/dev/shm"}

var homes = []string{"/home", "/Users"}

// locate reads no files, so it does not resolve symbolic links.
func locate(word shell.Word, dir, root string) location {
	if word.Text == shell.Hole && word.From != "" && word.Base != "" {
		word = shell.Word{Text: path.Join(word.From, "x", word.Base)}
	}
	text, glob := word.Text, word.Glob
	if i := strings.Index(text, shell.Hole); i >= 0 {
		if i > 0 && !word.Open && locate(shell.Word{Text: path.Dir(text[:i] + "x")}, dir, root) == locationTemp {
			return locationTemp
		}
		return locationUnknown
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
	return locatePath(path.Clean(full), glob, dir, root)
}

func slashed(text string) string {
	if len(text) > 2 && text[1] == ':' && (text[2] == '/' || text[2] == '\\') && unicode.IsLetter(rune(text[0])) {
		return "/" + strings.ReplaceAll(text, `\`, "/")
	}
	return text
}

func unknownDir(text string, glob bool) location {
	clean := path.Clean(text)
	if clean == "." || strings.HasPrefix(clean, "..") || glob && matchesAll(path.Base(clean)) || historyOf(clean, glob) {
		return locationCritical
	}
	return locationUnknown
}

func locatePath(full string, glob bool, dir, root string) location {
	relative := full
	if path.IsAbs(full) {
		if isTemp(full) || isCache(full) {
			return locationTemp
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
		return locationCritical // the project or a parent of it
	case strings.HasPrefix(relative, "../"):
		return locationOutside
	case glob && !strings.Contains(relative, "/") && matchesAll(relative), historyOf(relative, glob):
		return locationCritical
	}
	return locationInside
}

func project(dir string) string {
	if !path.IsAbs(dir) || outside(dir, false) == locationCritical {
		return ""
	}
	return dir
}

func below(full, base string) (string, bool) {
	switch {
	case base == "":
		return "", false
	case full == base:
		return ".", true
	}
	return strings.CutPrefix(full, strings.TrimSuffix(base, "/")+"/")
}

func outside(full string, glob bool) location {
	parent, last := path.Split(full)
	parent = path.Clean(parent)
	if glob && matchesAll(last) {
		full, parent = parent, path.Dir(parent)
	}
	if parent == "/" || full == "/" || slices.Contains(homes, parent) {
		return locationCritical
	}
	return locationOutside
}

func isTemp(full string) bool {
	return slices.ContainsFunc(temps, func(temp string) bool {
		_, ok := below(full, temp)
		return ok
	})
}

func isCache(full string) bool {
	rest, ok := inHome(full)
	return ok && slices.ContainsFunc([]string{".cache", ".npm/_cacache", "Library/Caches", ".gradle/caches", "Library/Developer/Xcode/DerivedData"},
		func(cache string) bool {
			inner, ok := below(rest, cache)
			return ok && inner != "."
		})
}

func matchesAll(pattern string) bool {
	return strings.Contains(pattern, "*") && strings.Trim(pattern, "*?.") == ""
}

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
