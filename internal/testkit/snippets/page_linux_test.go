package snippets

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestWorld_Begin records the sessions of a new world. TestPages runs it inside.
func TestWorld_Begin(t *testing.T) {
	if os.Getenv(worldEnv) == "" {
		t.Skip("TestPages runs it")
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-e", "/src/internal/testkit/snippets/testdata/world.sh").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestWorld_Page runs the command blocks of a page. TestPages runs it inside.
func TestWorld_Page(t *testing.T) {
	if os.Getenv(worldEnv) == "" {
		t.Skip("TestPages runs it")
	}
	page := os.Getenv(pageEnv)
	table := entries(t, "/src/internal/testkit/snippets/testdata/blocks.yaml")
	outside(t, page)
	save(t)
	for _, b := range blocks(t, "/src", page) {
		e := table.of(b)
		if e.runs(b) {
			t.Run(b.first(), func(t *testing.T) { e.run(t, b) })
		}
	}
}

// changing are the folders of the world that the lines change.
const changing = "backup etc/hooktrail home mnt run safe srv tmp var"

func save(t *testing.T) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "sh", "-ec", "cd / && mkdir saved && cp -a --parents "+changing+" saved").CombinedOutput(); err != nil {
		t.Fatalf("save the world: %v\n%s", err, out)
	}
}

// restore makes the world as it was for the first block, without the traces of other blocks.
func restore(t *testing.T) {
	t.Helper()
	const script = "cd / && for d in " + changing + "; do find $d -mindepth 1 -delete; cp -a saved/$d/. $d; done"
	if out, err := exec.CommandContext(t.Context(), "sh", "-ec", script).CombinedOutput(); err != nil {
		t.Fatalf("restore the world: %v\n%s", err, out)
	}
}

func (e entry) run(t *testing.T, b block) {
	t.Helper()
	restore(t)
	s := &shell{env: os.Environ()}
	defer s.stop(t)
	for _, line := range commands("sh", e.Before) {
		s.run(t, line, 0)
	}
	for _, line := range commands(b.language, b.text) {
		if goLine.MatchString(line) {
			continue // TestBlocks checks it
		}
		run, want, longest := line, 0, 0
		for placeholder, value := range e.Replace {
			run = strings.ReplaceAll(run, placeholder, value)
		}
		for prefix, status := range e.Ends {
			if strings.HasPrefix(line, prefix) && len(prefix) > longest {
				want, longest = status, len(prefix)
			}
		}
		printed := s.run(t, run, want)
		if _, shown, _ := strings.Cut(b.text, "\n"); e.Same && !strings.Contains(printed, shown) {
			t.Errorf("%s prints\n%s\ninstead of\n%s", line, printed, shown)
		}
		if e.Alone {
			s.stop(t)
		}
	}
}
