package hooktrail

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// recordedSession is the session of the demo: a transcript in the format of Claude
// Code and the transcript of its sub-agent. Both were written for the demo.
//
//go:embed session
var recordedSession embed.FS

const (
	sessionRoot = "session"
	sessionName = "5e6c1d2a-7b1f-4c55-9a64-0f6b3c2d9e71"
	sessionFile = sessionName + ".jsonl"
)

// unpackSession writes the recorded session below dir and returns its
// transcripts, the main one first.
func unpackSession(dir string) ([]string, error) {
	tree, err := fs.Sub(recordedSession, sessionRoot)
	if err != nil {
		return nil, fmt.Errorf("recorded session: %w", err)
	}
	if err := os.CopyFS(dir, tree); err != nil {
		return nil, fmt.Errorf("unpack the recorded session: %w", err)
	}
	return sessionFiles(filepath.Join(dir, sessionFile))
}

// sessionFiles returns a transcript and the transcripts of its sub-agents. Claude Code
// stores them in a folder with the name of the session, next to the transcript.
func sessionFiles(file string) ([]string, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	base := file[:len(file)-len(filepath.Ext(file))]
	agents, err := filepath.Glob(filepath.Join(globEscape(base), "subagents", "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("transcripts of sub-agents: %w", err)
	}
	return append([]string{file}, agents...), nil
}

// globEscape returns a pattern that matches path alone.
func globEscape(path string) string {
	var b []byte
	for i := range len(path) {
		switch path[i] {
		case '*', '?', '[', '\\':
			b = append(b, '\\')
		}
		b = append(b, path[i])
	}
	return string(b)
}
