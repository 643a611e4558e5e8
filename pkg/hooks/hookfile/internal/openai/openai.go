// Package openai asks a language model behind an API as OpenAI's: theirs, or any
// server that answers POST …/chat/completions alike.
package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/sashabaranov/go-openai"
)

// Options say where the model is.
type Options struct {
	BaseURL string        // up to and without /chat/completions; empty is OpenAI's own
	Key     func() string // asked for each request; an empty key is not sent
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
	config := openai.DefaultConfig(key)
	if c.opts.BaseURL != "" {
		config.BaseURL = c.opts.BaseURL
	} else if key == "" {
		return "", fmt.Errorf("ask model: %w", ErrNoKey)
	}
	if c.opts.Client != nil {
		config.HTTPClient = c.opts.Client
	}
	req := openai.ChatCompletionRequest{
		Model:     model,
		Messages:  []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: prompt}},
		MaxTokens: maxTokens, //nolint:staticcheck // what servers that answer alike know
	}
	// Newer models have another name for the same limit, older servers only this one.
	if errors.Is(openai.NewReasoningValidator().Validate(req), openai.ErrReasoningModelMaxTokensDeprecated) {
		req.MaxTokens, req.MaxCompletionTokens = 0, maxTokens //nolint:staticcheck // see above
	}
	resp, err := openai.NewClientWithConfig(config).CreateChatCompletion(ctx, req)
	switch {
	case err != nil:
		return "", fmt.Errorf("ask model: %w", err)
	case len(resp.Choices) == 0 || resp.Choices[0].Message.Content == "":
		return "", fmt.Errorf("ask model: %w", ErrNoAnswer)
	}
	return resp.Choices[0].Message.Content, nil
}
