// Package llm sends prompts to language models over HTTP. It supports the API of Anthropic and the
// API of OpenAI, which other servers also provide.
//
// A Client repeats a request that an overloaded server refuses. Its methods can be called
// concurrently.
package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

// API is the protocol of a server.
type API string

// The supported protocols.
const (
	OpenAI    API = "openai"    // POST …/chat/completions
	Anthropic API = "anthropic" // POST …/v1/messages
)

// Errors of [Client.Complete].
var (
	ErrNoKey    = errors.New("no key")
	ErrNoAnswer = errors.New("answer without text")
)

// Client sends prompts to one server.
type Client struct {
	API     API
	BaseURL string        // empty for the public server of the API
	Key     func() string // called for each request. It may return "" only for OpenAI with a BaseURL
	HTTP    *http.Client
}

// Complete sends prompt to model and returns the answer, which has at most maxTokens tokens. It
// fails when ctx ends.
func (c *Client) Complete(ctx context.Context, model, prompt string, maxTokens int) (string, error) {
	call, text := c.openAI, openAIText
	if c.API == Anthropic {
		call, text = c.anthropic, anthropicText
	}
	key := c.Key()
	if key == "" && (c.API == Anthropic || c.BaseURL == "") {
		return "", fmt.Errorf("ask model: %w", ErrNoKey)
	}
	req, err := call(ctx, key, request{Model: model, Messages: []message{{Role: "user", Content: prompt}}}, maxTokens)
	if err != nil {
		return "", fmt.Errorf("ask model: %w", err)
	}
	body, err := c.sendAgain(req)
	if err != nil {
		return "", fmt.Errorf("ask model: %w", err)
	}
	answer, err := text(body)
	if err == nil && answer == "" {
		err = ErrNoAnswer
	}
	if err != nil {
		return "", fmt.Errorf("ask model: %w", err)
	}
	return answer, nil
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type request struct {
	Model               string    `json:"model"`
	Messages            []message `json:"messages"`
	MaxTokens           int       `json:"max_tokens,omitempty"`
	MaxCompletionTokens int       `json:"max_completion_tokens,omitempty"`
	Stream              *bool     `json:"stream,omitempty"` // false, because some servers stream by default
}

// newerModels lists the prefixes of OpenAI models that require max_completion_tokens. Other servers
// accept only max_tokens.
var newerModels = []string{"o1", "o3", "o4", "gpt-5", "gpt-6-astra", "gpt-6-luna", "gpt-6-sol", "gpt-6.1-sol"}

func (c *Client) openAI(ctx context.Context, key string, r request, maxTokens int) (*http.Request, error) {
	if slices.ContainsFunc(newerModels, func(prefix string) bool { return strings.HasPrefix(r.Model, prefix) }) {
		r.MaxCompletionTokens = maxTokens
	} else {
		r.MaxTokens = maxTokens
	}
	r.Stream = new(bool)
	req, err := post(ctx, c.baseURL("https://api.openai.com/v1"), "chat/completions", r)
	if err == nil && key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return req, err
}

func (c *Client) anthropic(ctx context.Context, key string, r request, maxTokens int) (*http.Request, error) {
	r.MaxTokens = maxTokens
	req, err := post(ctx, c.baseURL("https://api.anthropic.com"), "v1/messages", r)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", key)
	req.Header.Set("Anthropic-Version", "2023-06-01")
	return req, nil
}

func (c *Client) baseURL(provider string) string {
	if c.BaseURL != "" {
		return c.BaseURL
	}
	return provider
}

func post(ctx context.Context, base, path string, r request) (*http.Request, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	return req, nil
}

func (c *Client) send(req *http.Request) ([]byte, error) {
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return nil, StatusError{Status: resp.StatusCode, after: resp.Header.Get("Retry-After")}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, wire.MaxBytes+1))
	if err == nil && len(body) > wire.MaxBytes {
		return nil, wire.ErrTooLong
	}
	return body, err
}

func openAIText(body []byte) (string, error) {
	var answer struct {
		Choices []struct {
			Message message `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Choices) == 0 {
		return "", err
	}
	return answer.Choices[0].Message.Content, nil
}

func anthropicText(body []byte) (string, error) {
	var answer struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	err := json.Unmarshal(body, &answer)
	var text strings.Builder
	for _, block := range answer.Content {
		text.WriteString(block.Text)
	}
	return text.String(), err
}
