package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

const (
	decisionsFile = "decisions.md"

	maxDirectives     = 10  // per prompt
	maxDirectiveRunes = 300 // per directive
)

var standing = regexp.MustCompile(`(?i)^(?:(?:please|and|also|ok|okay|note|remember)[,:]?\s+)*` +
	`(?:(?:always|never|from now on|going forward|in (?:the )?future|remember to|remember that|` +
	`do not ever|don't ever|make sure (?:you |to )?always|we always|we never|we (?:have )?decided (?:to|that|on))\b|` +
	`prefer\s+\S.*\s+over\s)`)

var sentenceEnd = regexp.MustCompile(`[.!?;]["')]?\s+`)

// Directives returns the sentences in prompt that tell the agent what to do always or never. It
// ignores code blocks and quotations.
func Directives(prompt string) []string {
	var found []string
	code := false
	for line := range strings.Lines(prompt) {
		line = plain(line)
		if strings.HasPrefix(line, "```") {
			code = !code
			continue
		}
		if code || strings.HasPrefix(line, ">") {
			continue
		}
		for _, sentence := range sentenceEnd.Split(line, -1) {
			sentence = unmarked(sentence)
			if standing.MatchString(sentence) && len(strings.Fields(sentence)) > 2 &&
				len([]rune(sentence)) <= maxDirectiveRunes && !slices.Contains(found, sentence) {
				found = append(found, sentence)
			}
			if len(found) == maxDirectives {
				return found
			}
		}
	}
	return found
}

// plain removes invisible characters, because they could hide a word from a search.
func plain(line string) string {
	line = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, line)
	return strings.Join(strings.Fields(line), " ")
}

func unmarked(sentence string) string {
	return strings.TrimRight(strings.TrimLeft(sentence, "-*#0123456789.) "), ".!?; ")
}

// PromptSubmitted adds the [Directives] in the prompt to the file with the decisions of the team.
func (c *Context) PromptSubmitted(_ context.Context, meta hooks.Meta, prompt hooks.Prompt) (*hooks.PromptDecision, error) {
	found := Directives(prompt.Text)
	if len(found) == 0 || meta.TeamRoot == "" {
		return hooks.NoOpinion[hooks.PromptDecision](), nil
	}
	if err := c.addDecisions(meta, found); err != nil {
		return nil, fmt.Errorf("add directives to the decisions: %w", err)
	}
	return &hooks.PromptDecision{Patch: &hooks.PromptPatch{Directives: found}}, nil
}

func (c *Context) addDecisions(meta hooks.Meta, directives []string) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := os.MkdirAll(filepath.Join(meta.TeamRoot, c.opts.Dir), 0o750); err != nil {
		return err
	}
	dir, err := c.open(meta)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	f, err := dir.OpenFile(decisionsFile, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o644) // opening a pipe must not block
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(errNotRegular, err)
	}
	known, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, d := range directives {
		what := "**What:** " + d + "\n"
		if !strings.Contains(string(known), what) {
			fmt.Fprintf(&b, "\n### %s\n**By:** %s\n%s", d, authorOf(meta), what)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	_, err = f.WriteString(b.String()) // a single write, because several processes may write
	return err
}

var errNotRegular = errors.New(decisionsFile + " is not a regular file")

func authorOf(meta hooks.Meta) string {
	if user := plain(meta.User); user != "" {
		return user
	}
	return "user"
}
