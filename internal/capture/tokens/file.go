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

// Path returns the path of the token file of a data directory.
func Path(dataDir string) string { return filepath.Join(dataDir, "keys", "http-tokens.json") }

// ErrNone means that [Revoke] did not find the token.
var ErrNone = errors.New("no such token")

type contents struct {
	Tokens []Token `json:"tokens"`
}

// Create adds a token for a tenant. It returns the secret, which is not stored.
func Create(ctx context.Context, path, tenant, note string) (Secret, Token, error) {
	if tenant == "" {
		return "", Token{}, errors.New("create token: tenant is empty")
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

// Revoke removes a token from a token file. id is the id or the secret of the token. The token must
// belong to tenant, unless tenant is empty.
func Revoke(ctx context.Context, path, tenant, id string) (Token, error) {
	id = idOf(id)
	var revoked Token
	err := change(ctx, path, func(c *contents) error {
		i := slices.IndexFunc(c.Tokens, func(t Token) bool { return t.ID == id && (tenant == "" || t.Tenant == tenant) })
		if i < 0 {
			return ErrNone
		}
		revoked = c.Tokens[i]
		c.Tokens = slices.Delete(c.Tokens, i, i+1)
		return nil
	})
	if err != nil {
		return Token{}, fmt.Errorf("revoke token %.8s: %w", id, err)
	}
	return revoked, nil
}

func idOf(s string) string {
	if id := Secret(s).id(); id != "" {
		return id
	}
	return strings.TrimPrefix(s, prefix)
}

// List returns the tokens in a token file, oldest first. If the file is missing, it returns none.
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
		return contents{}, fmt.Errorf("%s: other users may change it; run chmod 600", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return contents{}, err
	}
	var c contents
	if err := json.Unmarshal(data, &c); err != nil {
		return contents{}, fmt.Errorf("%s: not a token file: %w", path, err)
	}
	if slices.ContainsFunc(c.Tokens, func(t Token) bool { return t.Tenant == "" }) {
		return contents{}, fmt.Errorf("%s: contains a token without a tenant", path)
	}
	return c, nil
}

func write(path string, c contents) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(data, '\n'))
}
