package bundle

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func (c *checker) sums(ctx context.Context) error {
	list, err := c.small(sumsFile)
	if err != nil {
		c.report.AddProblem("%s: %v", sumsFile, err)
		return nil
	}
	var want strings.Builder
	c.digests = make(map[string]events.Hash)
	for _, name := range c.names {
		if name == sumsFile {
			continue
		}
		line, err := c.sum(ctx, name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.report.AddProblem("%s: %v", name, err)
			continue
		}
		if !strings.Contains(string(list), line) {
			c.report.AddProblem("%s: its SHA-256 is not the one of %s", name, sumsFile)
		}
		want.WriteString(line)
	}
	if c.report.ProblemCount == 0 && want.String() != string(list) {
		c.report.AddProblem("%s lists something else than the files", sumsFile)
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
			c.digests[name] = events.Hash(h.Sum(nil))
			return sumLine(c.digests[name], name), nil
		}
		if err != nil {
			return "", err
		}
	}
}
