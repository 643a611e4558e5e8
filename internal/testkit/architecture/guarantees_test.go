package architecture

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the list of tests in docs/guarantees.md")

var (
	promiseRow    = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|")
	directive     = regexp.MustCompile(`(?m)^//guarantee:([a-z-]+)$`)
	guaranteeTest = regexp.MustCompile(`(?m)((?:^//guarantee:[a-z-]+\n)+)^func (Test\w+)\(`)
)

// Each promise in docs/guarantees.md has a test with its directive, and the page lists these tests.
func TestGuarantees(t *testing.T) {
	name := filepath.Join(root, "docs", "guarantees.md")
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tests := guaranteeTests(t)
	var promises []string
	for _, m := range promiseRow.FindAllStringSubmatch(string(page), -1) {
		if slices.Contains(promises, m[1]) {
			t.Errorf("promise %s stands twice", m[1])
		}
		promises = append(promises, m[1])
		if len(tests[m[1]]) == 0 {
			t.Errorf("promise %s has no test", m[1])
		}
	}
	for _, unknown := range slices.Sorted(maps.Keys(tests)) {
		if !slices.Contains(promises, unknown) {
			t.Errorf("%v name the unknown promise %s", tests[unknown], unknown)
		}
	}
	const begin, end = "<!-- written by: go test ./internal/testkit/architecture -update -->\n", "<!-- end of tests -->\n"
	head, rest, ok := strings.Cut(string(page), begin)
	have, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/guarantees.md has no markers for the list of tests")
	}
	var want strings.Builder
	for _, p := range promises {
		fmt.Fprintf(&want, "- **%s**", p)
		for _, test := range tests[p] {
			fmt.Fprintf(&want, " `%s`", test)
		}
		want.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile(name, []byte(head+begin+want.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), have); diff != "" {
		t.Errorf("docs/guarantees.md (-tests +page), -update rewrites it:\n%s", diff)
	}
}

func guaranteeTests(t *testing.T) map[string][]string {
	t.Helper()
	tests := map[string][]string{}
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		found := 0
		for _, m := range guaranteeTest.FindAllStringSubmatch(string(src), -1) {
			for _, promise := range directive.FindAllStringSubmatch(m[1], -1) {
				tests[promise[1]] = append(tests[promise[1]], path.Dir(name)+"."+m[2])
				found++
			}
		}
		if all := len(directive.FindAll(src, -1)); all != found {
			t.Errorf("%s: %d of %d directives are not above a test", name, all-found, all)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
