package provider

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

func (c *Context) skills(ctx context.Context, dir *os.Root, charter string) ([]string, error) {
	words := wordsOf(charter)
	if len(words) == 0 {
		return nil, nil
	}
	list, err := fs.ReadDir(dir.FS(), "skills")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	charterWords := " " + strings.Join(words, " ") + " "
	var texts []string
	for _, d := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		text, err := c.read(dir, filepath.Join("skills", d.Name(), "SKILL.md"))
		if err != nil {
			return nil, err
		}
		if text != "" && mentions(charterWords, append(topicsOf(text), d.Name())) {
			texts = append(texts, text)
		}
	}
	return texts, nil
}

func mentions(charterWords string, topics []string) bool {
	for _, topic := range topics {
		if words := wordsOf(topic); len(words) > 0 && strings.Contains(charterWords, " "+strings.Join(words, " ")+" ") {
			return true
		}
	}
	return false
}

func topicsOf(skill string) []string {
	front, ok := strings.CutPrefix(skill, "---\n")
	if !ok {
		return nil
	}
	front, _, ok = strings.Cut(front, "\n---")
	if !ok {
		return nil
	}
	var topics []string
	for line := range strings.Lines(front) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "name", "domain", "keywords", "triggers":
			topics = append(topics, strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(`,[]"'`, r) })...)
		}
	}
	return topics
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
