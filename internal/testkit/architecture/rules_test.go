package architecture

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// check returns what the file does that it may not do.
func (f file) check() []string {
	var findings []string
	report := func(format string, args ...any) {
		findings = append(findings, f.path+": "+fmt.Sprintf(format, args...))
	}
	if f.lines > maxLines {
		report("%d lines, at most %d make one idea", f.lines, maxLines)
	}
	for _, imported := range f.imports {
		dir, ours := strings.CutPrefix(imported, module+"/")
		switch {
		case !ours:
			if by, ok := owners(imported); ok && !slices.Contains(by, f.dir) {
				report("imports %s, which is left to %v", imported, by)
			}
			if !f.test && floors[f.dir] != tests && slices.Contains(testOnly, imported) {
				report("imports %s, which is for tests only", imported)
			}
		case f.test:
			if why := forbiddenInTest(f.dir, dir); why != "" {
				report("imports %s: %s", dir, why)
			}
		default:
			if why := forbidden(f.dir, dir); why != "" {
				report("imports %s: %s", dir, why)
			}
		}
	}
	for _, name := range f.leaks {
		report("exports %s, a name of an internal package", name)
	}
	return findings
}

// forbidden says why code of package from may not import package to.
func forbidden(from, to string) string {
	switch a, b := floors[from], floors[to]; {
	case strings.HasPrefix(from, "pkg/") && strings.HasPrefix(to, "internal/") && exceptions[from] != to:
		return "pkg never imports internal"
	case apart[from] == to:
		return "kept apart"
	case a == examples && strings.HasPrefix(to, "internal/"):
		return "examples show what users can write, who cannot import internal"
	case a == mains && to != "internal/platform/cli" && path.Base(from) != path.Base(to):
		return "a main imports cli and its own service"
	case b == tests && a != tests:
		return "for tests only"
	case a == services && b == services:
		return "services never import each other"
	case a <= b && a != tests:
		return fmt.Sprintf("floor %d is not below floor %d", b, a)
	}
	return ""
}

// forbiddenInTest is the same for the tests of package from: they may use what
// they like of the floors below the services.
func forbiddenInTest(from, to string) string {
	a, b := floors[from], floors[to]
	if from != to && a <= services && (b == services || b == house || b == mains) {
		return "only hooktrail and e2e test several services"
	}
	return ""
}

// owners returns the packages that alone may import what is reserved for them.
func owners(imported string) ([]string, bool) {
	for name, by := range reserved {
		if imported == name || strings.HasPrefix(imported, name+"/") {
			return by, true
		}
	}
	return nil, false
}

// checkPure follows the imports of the pure packages.
func (t tree) checkPure() []string {
	var findings []string
	for root, allowed := range pure {
		seen := map[string]bool{root: true}
		for queue := []string{root}; len(queue) > 0; queue = queue[1:] {
			for _, imported := range t.imports(queue[0]) {
				dir, ours := strings.CutPrefix(imported, module+"/")
				switch {
				case ours && !seen[dir]:
					seen[dir] = true
					queue = append(queue, dir)
				case !ours && !standard(imported) && !slices.Contains(allowed, imported):
					findings = append(findings, fmt.Sprintf("%s: links %s through %s", root, imported, queue[0]))
				}
			}
		}
	}
	return findings
}

// imports returns what the package in dir imports, its tests left out.
func (t tree) imports(dir string) []string {
	all := map[string]bool{}
	for _, f := range t.packages[dir] {
		if f.test {
			continue
		}
		for _, imported := range f.imports {
			all[imported] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// standard reports whether an import is of the standard library.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}
