// Package anthropic asks a language model behind Anthropic's API.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// Options say where the model is.
type Options struct {
	BaseURL string        // empty is Anthropic's own
	Key     func() string // asked for each request
	Client  *http.Client  // nil is the default one
}

// Client asks one endpoint. It may be used concurrently.
type Client struct{ opts Options }

// New returns a client. It does not connect.
func New(opts Options) *Client { return &Client{opts: opts} }

// The ways in which a model fails to answer.
var (
	ErrNoKey    = errors.New("no key")
	ErrNoAnswer = errors.New("answer without text")
)

// Complete returns what the model says to prompt, in at most maxTokens tokens.
// It asks once, until ctx ends.
func (c *Client) Complete(ctx context.Context, model, prompt string, maxTokens int) (string, error) {
	key := ""
	if c.opts.Key != nil {
		key = c.opts.Key()
	}
	if key == "" {
		return "", fmt.Errorf("ask model: %w", ErrNoKey)
	}
	// Nothing but the key comes from the environment, and nobody else's key.
	list := []option.RequestOption{option.WithoutEnvironmentDefaults(), option.WithAPIKey(key), option.WithMaxRetries(0)}
	if c.opts.BaseURL != "" {
		list = append(list, option.WithBaseURL(c.opts.BaseURL))
	}
	if c.opts.Client != nil {
		list = append(list, option.WithHTTPClient(c.opts.Client))
	}
	client := anthropic.NewClient(list...)
	resp, err := client.Messages.New(ctx, anthropic.MessageNewParams{
		Model:     model,
		MaxTokens: int64(maxTokens),
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
	})
	if err != nil {
		return "", fmt.Errorf("ask model: %w", err)
	}
	var text strings.Builder
	for _, block := range resp.Content {
		text.WriteString(block.Text)
	}
	if text.Len() == 0 {
		return "", fmt.Errorf("ask model: %w", ErrNoAnswer)
	}
	return text.String(), nil
}
