// Package snippets tests the blocks of code in the documents. Each block is run as it stands, held
// by another test, or listed with a reason in testdata/blocks.yaml.
//
// The lines of a command block run in a world of their own. That is a namespace of Linux with a
// root folder, a network and host names as the pages assume them. The script testdata/world.sh
// records a session of a real agent there, and the run r-42 of the tenant acme.
package snippets

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

var root = filepath.Join("..", "..", "..")

// A block is a fenced block of a document.
type block struct {
	page     string
	line     int    // of its first line
	language string // the label of the fence
	text     string
}

// An entry of blocks.yaml describes how a block is tested.
type entry struct {
	Block   string            // the block begins with this text
	Before  string            // commands that run before it
	Replace map[string]string // placeholders, and what the shell gets instead
	Ends    map[string]int    // exit statuses other than 0, by the beginning of the line
	Alone   bool              // services end before the next line
	Same    bool              // the output has the text below the command
	By      string            // another test has the block, as PACKAGE.TEST
	Why     string            // the reason why no test runs it
}

type table map[string][]entry

type kind struct{ runs bool }

// languages are the labels that a block may have.
var languages = map[string]kind{
	"sh": {runs: true}, "console": {runs: true}, "crontab": {runs: true},
	"go": {}, "json": {}, "sql": {}, "text": {}, "yaml": {},
}

func (b block) kind() kind { return languages[strings.Fields(b.language + " -")[0]] }

func (b block) first() string { return strings.SplitN(b.text, "\n", 2)[0] }

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

var fence = regexp.MustCompile("^( *)```(.*)$")

// blocks returns the fenced blocks of a page, without their indentation.
func blocks(t *testing.T, root, page string) (list []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	var open *block
	indent, number := "", 0
	for line := range strings.SplitSeq(string(text), "\n") {
		number++
		switch m := fence.FindStringSubmatch(line); {
		case m != nil && open == nil:
			open, indent = &block{page: page, line: number + 1, language: m[2]}, m[1]
		case m != nil:
			list = append(list, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	if open != nil {
		t.Fatalf("%v: the block does not end", open)
	}
	return list
}

// pages returns the documents, as paths from the root of the repository.
func pages(t *testing.T) (list []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.md", "examples/*/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			page, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, page)
		}
	}
	return list
}

func entries(t *testing.T, file string) table {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all table
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return all
}

func (all table) of(b block) entry {
	for _, e := range all[b.page] {
		if strings.HasPrefix(b.text, e.Block) {
			return e
		}
	}
	return entry{}
}

// runs reports whether TestPages runs lines of b.
func (e entry) runs(b block) bool {
	return b.kind().runs && e.By == "" && e.Why == "" &&
		slices.ContainsFunc(commands(b.language, b.text), func(line string) bool { return !goLine.MatchString(line) })
}

// commands returns the commands of a block, each with its continuation lines.
func commands(language, text string) (list []string) {
	whole := ""
	for line := range strings.Lines(text) {
		switch language {
		case "console":
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue // output
			}
			line = command
		case "crontab":
			fields := strings.SplitN(line, "  ", 2)
			line = strings.ReplaceAll(fields[1], `\%`, "%")
		}
		whole += line
		trimmed := strings.TrimSpace(line)
		if trimmed == "" && strings.TrimSpace(whole) == "" {
			whole = ""
			continue
		}
		if !strings.HasSuffix(trimmed, `\`) && !strings.HasSuffix(trimmed, "|") && strings.Count(whole, "'")%2 == 0 {
			list = append(list, strings.TrimSuffix(whole, "\n"))
			whole = ""
		}
	}
	return list
}

// Each block of a document has a label, and is run, held by a test or listed with a reason.
func TestBlocks(t *testing.T) {
	all := entries(t, filepath.Join("testdata", "blocks.yaml"))
	used := map[string]bool{}
	for _, page := range pages(t) {
		for _, b := range blocks(t, root, page) {
			e := all.of(b)
			used[page+e.Block] = true
			if _, ok := languages[strings.Fields(b.language + " -")[0]]; !ok {
				t.Errorf("%v: the label %q is not one of %q", b, b.language, slices.Sorted(maps.Keys(languages)))
			}
			if !b.kind().runs && e.By == "" && e.Why == "" {
				t.Errorf("%v: no test has this block, and testdata/blocks.yaml names no reason: %s", b, b.first())
			}
			if b.kind().runs {
				checkGo(t, b)
			}
			if e.By != "" {
				checkTest(t, b, e.By)
			}
		}
	}
	for page, list := range all {
		for _, e := range list {
			if !used[page+e.Block] {
				t.Errorf("testdata/blocks.yaml: %s has no block that begins with %q", page, e.Block)
			}
		}
	}
}

var goLine = regexp.MustCompile(`^(?:\w+=\S+ )*go (?:run|test|install) (.*)`)

// checkGo requires that the packages and tests in the lines of the go command exist.
func checkGo(t *testing.T, b block) {
	t.Helper()
	for _, line := range commands(b.language, b.text) {
		m := goLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var files []string
		fields := strings.Fields(strings.SplitN(m[1], "#", 2)[0])
		for i, field := range fields {
			switch {
			case strings.HasPrefix(field, "./"):
				err := filepath.WalkDir(filepath.Join(root, strings.TrimSuffix(field, "...")), func(path string, _ os.DirEntry, err error) error {
					files = append(files, path)
					return err
				})
				if err != nil {
					t.Errorf("%v: %v", b, err)
				}
			case field == "-run" && !slices.ContainsFunc(files, func(file string) bool {
				text, err := os.ReadFile(file)
				return err == nil && strings.HasSuffix(file, "_test.go") && regexp.MustCompile(`(?m)^func Test\w*`+strings.TrimPrefix(fields[i+1], "Test")).Match(text)
			}):
				t.Errorf("%v: no test matches %s", b, fields[i+1])
			}
		}
	}
}

// checkTest requires a test PACKAGE.NAME.
func checkTest(t *testing.T, b block, name string) {
	t.Helper()
	dir, test, _ := strings.Cut(name, ".")
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+test+"(")
	}) {
		t.Errorf("%v: there is no test %s", b, name)
	}
}
