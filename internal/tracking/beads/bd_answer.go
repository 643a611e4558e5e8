package beads

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

type answer struct {
	command        string
	stdout, stderr []byte
	code           int
}

func (a answer) data(v any) error {
	var envelope struct {
		Version int             `json:"schema_version"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(a.stdout, &envelope); err != nil || envelope.Data == nil {
		return fmt.Errorf("bd %s: answer is truncated or not from Beads: %w", a.command, ErrTransient)
	}
	if envelope.Version != 1 {
		return fmt.Errorf("bd %s: answer has schema version %d, want 1: %w", a.command, envelope.Version, ErrUnavailable)
	}
	if err := json.Unmarshal(envelope.Data, v); err != nil {
		return fmt.Errorf("bd %s: answer has an unexpected structure: %w", a.command, ErrTransient)
	}
	return nil
}

// says reports whether bd's output contains one of the given texts. It skips the usage text, which
// mentions locks in every case.
func (a answer) says(texts ...string) bool {
	all := bytes.ToLower(append(bytes.Clone(a.stdout), a.stderr...))
	all, _, _ = bytes.Cut(all, []byte("\nusage:"))
	return slices.ContainsFunc(texts, func(t string) bool { return bytes.Contains(all, []byte(t)) })
}

// ok is also true for "nothing to commit", for which bd exits with status 1.
func (a answer) ok() bool { return a.code == 0 || a.says("nothing to commit") }

func (a answer) isBusy() bool {
	return a.says("failed to open database", "connection refused", "database is locked", "database is read only",
		"exclusive lock", "lock wait timeout", "lock busy", "locked by another", "held by another process", "restarting transaction")
}

// without removes the commands that bd repeats in its error output, because a command could contain
// a text that looks like an error.
func (a answer) without(commands []command) answer {
	for _, c := range commands {
		if text, err := json.Marshal(c.text); err == nil {
			a.stderr = bytes.ReplaceAll(a.stderr, text[1:len(text)-1], nil)
		}
	}
	return a
}
