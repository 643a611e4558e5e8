package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// pure maps a public package to the third-party packages that it may link.
var pure = map[string][]string{
	"pkg/events": {"github.com/google/uuid"},
	"pkg/hooks":  {"github.com/google/uuid"},
}

// maxLinked limits the packages outside the standard library that public packages and the publisher
// link. Raise a limit only for a dependency that was added on purpose.
var maxLinked = map[string]int{
	"cmd/hooktrail-hook":     4,   // it starts for each call of an agent
	"cmd/hooktrail-capture":  96,  // without hooks files
	"cmd/publisher":          230, // no SQLite
	"pkg/events":             1,
	"pkg/hooks":              2,
	"pkg/hooks/hookfile":     113,
	"pkg/hooks/policy":       69,
	"pkg/hooks/policy/shell": 5,
	"pkg/hooks/provider":     70,
	"pkg/hooks/wire":         3,
	"pkg/publish":            29,
	"pkg/publish/outbox":     19, // no nats.go
	"pkg/redact":             59, // gitleaks' rules are in a package that imports viper
}

// linkedThrough maps a module to the only packages that may link it.
var linkedThrough = map[string][]string{
	"github.com/nats-io/nats-server":      {"internal/stream/broker"},
	"github.com/rs/zerolog":               {"internal/platform/cli", "pkg/redact"}, // redact links the rules of gitleaks
	"github.com/spf13/cobra":              {"internal/platform/cli", "internal/command", "pkg/redact"},
	"github.com/prometheus/client_golang": {"internal/metrics", "internal/app", "internal/stream/broker"},
}

type graph map[string][]string

// linked asks the go command for the link graph. A stale test result is impossible, because
// TestTree reads every Go file.
func linked(t *testing.T) graph {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports,Standard", "./cmd/...", "./pkg/...", "./internal/...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g := graph{}
	for decoder := json.NewDecoder(out); ; {
		var p struct {
			ImportPath string
			Imports    []string
			Standard   bool
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !p.Standard {
			g[p.ImportPath] = p.Imports
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return g
}

// reach returns the packages that the package from links, without the standard library. It does not
// enter barriers.
func (g graph) reach(from string, barriers ...string) []string {
	seen := map[string]bool{from: true}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, imported := range g[queue[0]] {
			if _, ok := g[imported]; ok && !seen[imported] && !inside(imported, barriers) {
				seen[imported] = true
				queue = append(queue, imported)
			}
		}
	}
	delete(seen, from)
	return slices.Sorted(maps.Keys(seen))
}

func inside(imported string, dirs []string) bool {
	dir, ours := strings.CutPrefix(imported, module+"/")
	return ours && slices.ContainsFunc(dirs, func(d string) bool { return dir == d || strings.HasPrefix(dir, d+"/") })
}

func TestLinks(t *testing.T) {
	g := linked(t)
	for dir, allowed := range pure {
		for _, p := range g.reach(module + "/" + dir) {
			if !strings.HasPrefix(p, module+"/") && !slices.Contains(allowed, p) {
				t.Errorf("%s links %s", dir, p)
			}
		}
	}
	for dir, limit := range maxLinked {
		if n := len(g.reach(module + "/" + dir)); n > limit {
			t.Errorf("%s links %d packages outside the standard library, the limit is %d", dir, n, limit)
		}
	}
	for reserved, through := range linkedThrough {
		for from := range g {
			dir, ours := strings.CutPrefix(from, module+"/")
			if !ours || inside(from, through) || forTests(dir) {
				continue
			}
			for _, p := range g.reach(from, through...) {
				if p == reserved || strings.HasPrefix(p, reserved+"/") {
					t.Errorf("%s links %s, and not through %v", dir, p, through)
					break
				}
			}
		}
	}
}

// The rules about links can fail.
func TestGraph_Reach(t *testing.T) {
	g := graph{
		module + "/pkg/a": {module + "/pkg/b", "fmt"},
		module + "/pkg/b": {"example.com/c"},
		"example.com/c":   {"example.com/d"},
		"example.com/d":   nil,
	}
	all := []string{"example.com/c", "example.com/d", module + "/pkg/b"}
	if got := g.reach(module + "/pkg/a"); !slices.Equal(got, all) {
		t.Errorf("got %v, want %v", got, all)
	}
	if got := g.reach(module+"/pkg/a", "pkg/b"); len(got) > 0 {
		t.Errorf("got %v behind the barrier", got)
	}
}
