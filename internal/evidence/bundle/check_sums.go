package bundle

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
)

// sums compares each file with SHA256SUMS, which must list every file once and in
// order.
func (c *checker) sums(ctx context.Context) error {
	list, err := c.small(sumsFile)
	if err != nil {
		c.problem("%s: %v", sumsFile, err)
		return nil
	}
	var want strings.Builder
	for _, name := range bundleFiles {
		if name == sumsFile {
			continue
		}
		line, err := c.sum(ctx, name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.problem("%s: %v", name, err)
			continue
		}
		if !strings.Contains(string(list), line) {
			c.problem("%s: its SHA-256 is not the one of %s", name, sumsFile)
		}
		want.WriteString(line)
	}
	if c.report.ProblemCount == 0 && want.String() != string(list) {
		c.problem("%s lists something else than the files", sumsFile)
	}
	return nil
}

func (c *checker) sum(ctx context.Context, name string) (line string, err error) {
	f, err := c.files[name].Open()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		_, err := io.CopyN(h, f, 4<<20)
		if errors.Is(err, io.EOF) {
			return sumLine(h, name), nil
		}
		if err != nil {
			return "", err
		}
	}
}
