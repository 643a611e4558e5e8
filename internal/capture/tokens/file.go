package tokens

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Path returns where the tokens of a data directory are.
func Path(dataDir string) string { return filepath.Join(dataDir, "keys", "http-tokens.json") }

// ErrNone is wrapped by [Revoke] when the file has no such token.
var ErrNone = errors.New("no such token")

// contents is the file.
type contents struct {
	Tokens []Token `json:"tokens"`
}

// Create adds a token for tenant to the file at path, which it makes when there
// is none, and returns it: the one time that it can be had. It counts from now
// on, in processes that run already too.
func Create(ctx context.Context, path, tenant, note string) (Secret, Token, error) {
	if tenant == "" {
		return "", Token{}, errors.New("create token: a tenant is needed")
	}
	if _, err := subjects.Token(tenant); err != nil {
		return "", Token{}, fmt.Errorf("tenant: %w", err)
	}
	secret := newSecret()
	token := Token{ID: secret.id(), Tenant: tenant, Note: note, SHA256: secret.hash(), Created: time.Now().UTC().Truncate(time.Second)}
	err := change(ctx, path, func(c *contents) error {
		c.Tokens = append(c.Tokens, token)
		return nil
	})
	if err != nil {
		return "", Token{}, fmt.Errorf("create token: %w", err)
	}
	return secret, token, nil
}

// Revoke takes the token named id out of the file at path, and returns what it
// was. It no longer counts from now on. Where a tenant is given, tokens of others
// are not there for it.
func Revoke(ctx context.Context, path, tenant, id string) (Token, error) {
	id = nameOf(id)
	var gone Token
	err := change(ctx, path, func(c *contents) error {
		i := slices.IndexFunc(c.Tokens, func(t Token) bool { return t.ID == id && (tenant == "" || t.Tenant == tenant) })
		if i < 0 {
			return ErrNone
		}
		gone = c.Tokens[i]
		c.Tokens = slices.Delete(c.Tokens, i, i+1)
		return nil
	})
	if err != nil {
		return Token{}, fmt.Errorf("revoke token %.8s: %w", id, err)
	}
	return gone, nil
}

// nameOf returns the name in what a person has of a token: the name, or all.
func nameOf(s string) string {
	if id := Secret(s).id(); id != "" {
		return id
	}
	return strings.TrimPrefix(s, prefix)
}

// List returns the tokens in the file at path, oldest first: none when there is
// no file.
func List(path string) ([]Token, error) {
	c, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return c.Tokens, nil
}

// change does what is asked to the file, alone.
func change(ctx context.Context, path string, do func(*contents) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lock, err := filelock.Wait(ctx, path+".lock", func() {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	c, err := read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := do(&c); err != nil {
		return err
	}
	return write(path, c)
}

func read(path string) (contents, error) {
	info, err := os.Stat(path)
	if err != nil {
		return contents{}, err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return contents{}, fmt.Errorf("%s: others may change it; chmod 600 mends that", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return contents{}, err
	}
	var c contents
	if err := json.Unmarshal(data, &c); err != nil {
		return contents{}, fmt.Errorf("%s: not a file of tokens: %w", path, err)
	}
	if slices.ContainsFunc(c.Tokens, func(t Token) bool { return t.Tenant == "" }) {
		return contents{}, fmt.Errorf("%s: a token without a tenant would be one of all", path)
	}
	return c, nil
}

// write replaces the file: readers find the old one or the new one.
func write(path string, c contents) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(data, '\n'))
}
