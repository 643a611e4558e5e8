package snippets

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	verb = regexp.MustCompile(`%[-+# 0-9.*\[\]]*[a-zA-Z]|\n| {2,}`)
	// varying are the parts of an output that differ from ledger to ledger.
	varying = regexp.MustCompile(`\d{4}-\d\d-\d\d(T[\d:.]+Z)?|\bhooktrail\+[0-9a-f]+\S*|\b[0-9a-f]{8}[0-9a-f-]*…?|` +
		`#?\b\d[\d,]*(\.\d+)?([hmsdwy]\d*)*\b|\S*[+/=…]\S*|"[^"]*"`)
	// names are those that the documents invent.
	names = regexp.MustCompile(`\b(acme|jdoe|amy|bob|mallory|toolu_01|r-\d+|(coder|http|pipe|import)-[0-9a-f]+|DSR-88|Example TSA|` +
		`AI act, article|four eyes|every year|contract|subject request|erase, lift)\b`)
	label    = regexp.MustCompile(`^([A-Z][A-Za-z ]*): {2,}`)
	jsonName = regexp.MustCompile(`"([a-z_]+)": ?`)
)

// sources returns the fixed parts of all texts in the code. A text is split at its verbs.
func sources(t *testing.T) map[string]bool {
	t.Helper()
	pieces := map[string]bool{}
	add := func(literal string) {
		text, err := strconv.Unquote(literal)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range verb.Split(text, -1) {
			pieces[strings.Trim(piece, " :;,.()%")] = true
		}
	}
	for _, wing := range []string{"internal", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, wing), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testkit") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			var s scanner.Scanner
			s.Init(token.NewFileSet().AddFile(path, -1, len(text)), text, nil, 0)
			for {
				_, kind, literal := s.Scan()
				if kind == token.EOF {
					return nil
				}
				if kind == token.STRING {
					add(literal)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return pieces
}

// covered reports whether words consist of texts of the code. A single word must be a whole text, and
// be next to a punctuation mark if there are more than three others.
func covered(words []string, pieces map[string]bool, all string) bool {
	from := make([]bool, len(words)+1) // whether words[i:] are covered
	from[len(words)] = true
	for i := len(words) - 1; i >= 0; i-- {
		for j := i + 1; j <= len(words) && !from[i]; j++ {
			text := strings.Join(words[i:j], " ")
			whole := pieces[strings.Trim(text, " :;,.()")] && (j > i+1 || len(words) <= 4 || strings.ContainsAny(strings.Join(words[max(i-1, 0):j], " "), ":;,.()"))
			from[i] = from[j] && (whole || j > i+1 && strings.Contains(all, text))
		}
	}
	return from[0]
}

// The samples of outputs consist of texts that the code has, so a changed wording is noticed.
func TestWords(t *testing.T) {
	pieces := sources(t)
	list := []string{}
	for piece := range pieces {
		list = append(list, piece)
	}
	slices.Sort(list)
	all := strings.Join(list, "\n")
	table := entries(t, filepath.Join("testdata", "blocks.yaml"))
	for _, page := range pages(t) {
		for _, b := range blocks(t, root, page) {
			e := table.of(b)
			sample := b.language == "console" && e.By == "" && !e.Same
			if !sample && e.By != "internal/testkit/snippets.TestWords" {
				continue
			}
			for line := range strings.Lines(b.text) {
				checkWords(t, b, strings.TrimSpace(line), pieces, all)
			}
		}
	}
}

func checkWords(t *testing.T, b block, line string, pieces map[string]bool, all string) {
	t.Helper()
	if b.language == "json" {
		for _, m := range jsonName.FindAllStringSubmatch(line, -1) {
			if !strings.Contains(all, `json:"`+m[1]) && !pieces[m[1]] {
				t.Errorf("%v: no code has the member %q", b, m[1])
			}
		}
		return
	}
	if strings.HasPrefix(line, "$ ") || line == "…" {
		return
	}
	if m := label.FindStringSubmatch(line); m != nil && !pieces[m[1]] {
		t.Errorf("%v: no code prints the label %q", b, m[1])
	}
	for _, fragment := range regexp.MustCompile(`\x00| {2,}`).Split(varying.ReplaceAllString(names.ReplaceAllString(line, "\x00"), "\x00"), -1) {
		words := strings.Fields(strings.Trim(fragment, " :;,.()+-"))
		if !covered(words, pieces, all) {
			t.Errorf("%v: no code prints %q, in %q", b, strings.Join(words, " "), line)
		}
	}
}
