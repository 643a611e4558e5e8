package hooktrail

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const demoLimit = 5 * time.Second

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

var varying = []struct{ pattern, with string }{
	{`\d+ messages of the stream`, "115 messages of the stream"},
	{`\d+ leaf records`, "115 leaf records"},
	{`signed \S+ by hooktrail\+[0-9a-f]{8}`, "signed 2026-11-20T09:14:07Z by hooktrail+8f3c1a2b"},
	{`Took( +)\d+\.\d s`, "Took${1}1.2 s"},
}

// The first command of the README prints what the README shows. The second is the whole test run,
// which CI runs.
func TestREADME_Commands(t *testing.T) {
	readme := readDoc(t, "README.md")
	var got []string
	for line := range strings.Lines(shellBlock.FindStringSubmatch(readme)[1]) {
		command, _, _ := strings.Cut(line, "#")
		got = append(got, strings.TrimSpace(command))
	}
	if want := []string{"go run ./cmd/hooktrail demo", "go test ./..."}; !slices.Equal(got, want) {
		t.Fatalf("got commands %q, want %q", got, want)
	}
	if !strings.Contains(readDoc(t, ".ci/run"), "\n"+got[1]+"\n") {
		t.Errorf(".ci/run does not run %q", got[1])
	}

	program := filepath.Join(t.TempDir(), "hooktrail")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/hooktrail")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	demo := exec.CommandContext(t.Context(), program, "demo")
	demo.Dir, demo.Env = root, append(os.Environ(), "HOOKTRAIL_TENANT=", "HOOKTRAIL_JSON=", "HOOKTRAIL_KEEP=", "HOOKTRAIL_SESSION=")
	var stdout, stderr bytes.Buffer
	demo.Stdout, demo.Stderr = &stdout, &stderr
	began := time.Now()
	if err := demo.Run(); err != nil {
		t.Fatalf("demo: %v\n%s", err, stderr.Bytes())
	}
	if took := time.Since(began); took > demoLimit {
		t.Errorf("the demo took %v, it may take %v", took, demoLimit)
	}
	checkDemoBlock(t, readme, stdout.String())
}

func checkDemoBlock(t *testing.T, readme, printed string) {
	t.Helper()
	for _, v := range varying {
		printed = regexp.MustCompile(v.pattern).ReplaceAllString(printed, v.with)
	}
	const begin, end = "<!-- demo -->\n```text\n", "```\n<!-- /demo -->"
	head, rest, ok := strings.Cut(readme, begin)
	block, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("README.md has no place for what the demo prints")
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, "README.md"), []byte(head+begin+printed+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(printed, block); diff != "" {
		t.Errorf("README.md (-printed +README), -update rewrites it:\n%s", diff)
	}
}
