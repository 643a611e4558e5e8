package architecture

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

func (f file) check() []string {
	var findings []string
	report := func(format string, args ...any) {
		findings = append(findings, f.path+": "+fmt.Sprintf(format, args...))
	}
	limit := maxLines
	if f.isTest() {
		limit = maxTestLines
	}
	if f.lines > limit {
		report("%d lines, the limit is %d", f.lines, limit)
	}
	for _, imported := range f.imports {
		dir, ours := strings.CutPrefix(imported, module+"/")
		if ours {
			if why := f.forbidden(dir); why != "" {
				report("imports %s: %s", dir, why)
			}
			continue
		}
		if by, ok := owners(imported); ok && !slices.Contains(by, f.dir) {
			report("imports %s, which is reserved for %v", imported, by)
		}
		if !f.isTest() && slices.Contains(testOnly, imported) {
			report("imports %s, which is for tests only", imported)
		}
	}
	for _, name := range f.leaks {
		report("exports %s, a name of an internal package", name)
	}
	return findings
}

func (f file) isTest() bool { return f.test || forTests(f.dir) }

func forTests(dir string) bool {
	return wingOf(dir) == "internal/testkit" || strings.HasSuffix(dir, "test")
}

// forbidden says why f may not import the package to, or returns "".
func (f file) forbidden(to string) string {
	if f.dir == to {
		return "" // an external test of the package
	}
	for _, pair := range apart {
		if slices.Contains(pair[:], f.dir) && slices.Contains(pair[:], to) && !f.test {
			return "these packages stay apart"
		}
	}
	from, target := wingOf(f.dir), wingOf(to)
	switch {
	case f.isTest():
		return f.forbiddenInTest(from, target, to)
	case forTests(to):
		return "for tests only"
	case slices.Contains(services, f.dir) && slices.Contains(services, to):
		return "services never import each other"
	case from == "cmd" && !slices.Contains([]string{"internal/platform/cli", "internal/command/" + strings.TrimPrefix(path.Base(f.dir), "hooktrail-")}, to):
		return "a main imports cli and its own command"
	case to == frame && !slices.Contains(frameUsers, from):
		return "only commands import cli"
	case from == target, slices.Contains(wings[from], target), bridges[f.dir] == to:
		return ""
	}
	return from + " may not import " + target
}

// forbiddenInTest is the rule for tests, which may import lower wings and test packages. Only the
// top wings test several services together.
func (f file) forbiddenInTest(from, target, to string) string {
	switch {
	case from == "examples" && strings.HasPrefix(to, "internal/"):
		return "users cannot import internal packages"
	case slices.Contains([]string{"internal/app", "internal/command", "internal/testkit"}, from):
		return ""
	case target == "internal/app", target == "internal/command", slices.Contains(services, to):
		return "only app, command and testkit test services together"
	}
	return ""
}

func wingOf(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, ok := wings[dir]; ok {
			return dir
		}
	}
	return ""
}

func owners(imported string) ([]string, bool) {
	for name, by := range reserved {
		if imported == name || strings.HasPrefix(imported, name+"/") {
			return by, true
		}
	}
	return nil, false
}
