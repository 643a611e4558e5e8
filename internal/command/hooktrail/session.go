package hooktrail

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed session
var recordedSession embed.FS

const (
	sessionRoot = "session"
	sessionName = "5e6c1d2a-7b1f-4c55-9a64-0f6b3c2d9e71"
	sessionFile = sessionName + ".jsonl"
)

var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

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

func sessionFiles(file string) ([]string, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	base := strings.TrimSuffix(file, filepath.Ext(file))
	agents, err := filepath.Glob(filepath.Join(globEscape.Replace(base), "subagents", "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("transcripts of sub-agents: %w", err)
	}
	return append([]string{file}, agents...), nil
}
