package hooksocket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// Request is a POST request to a publisher.
type Request struct {
	Path   string
	Header map[string]string
	Body   []byte
}

// Response is the response to a Request.
type Response struct {
	Code   int
	Status string // such as "503 Service Unavailable"
	Header textproto.MIMEHeader
	Body   []byte
}

const (
	maxHead   = 64 << 10 // bytes of a status line and headers
	maxAnswer = 2 * MaxPayload

	statusOK = 200 // lower codes are informational
)

var errResponse = errors.New("its response is not HTTP")

// Exchange sends a request over a connection and calls started when the response begins. Linking
// net/http instead costs each hook command a millisecond.
func Exchange(ctx context.Context, conn net.Conn, req Request, started func()) (Response, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	head := []byte("POST " + req.Path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(req.Body)) + "\r\n")
	for name, value := range req.Header {
		head = append(head, name+": "+value+"\r\n"...)
	}
	message := net.Buffers{append(head, "\r\n"...), req.Body}
	_, sent := message.WriteTo(conn) // the server may respond before it has read everything
	resp, err := readResponse(conn, started)
	if err != nil {
		err = errors.Join(sent, err)
	}
	return resp, err
}

// readResponse reads a response to POST. It calls started after the first status line.
func readResponse(conn io.Reader, started func()) (Response, error) {
	limited := &io.LimitedReader{R: conn, N: maxHead}
	r := bufio.NewReader(limited)
	resp, err := readHead(r)
	if err != nil {
		return resp, err
	}
	started()
	for resp.Code < statusOK { // informational
		if resp, err = readHead(r); err != nil {
			return resp, err
		}
	}
	limited.N = maxAnswer
	switch length := resp.Header.Get("Content-Length"); {
	case strings.EqualFold(resp.Header.Get("Transfer-Encoding"), "chunked"):
		resp.Body, err = readChunks(r)
	case length != "":
		resp.Body, err = readLength(r, length)
	default:
		resp.Body, err = io.ReadAll(r)
	}
	return resp, err
}

func readHead(r *bufio.Reader) (Response, error) {
	text := textproto.NewReader(r)
	line, err := text.ReadLine()
	if err != nil {
		return Response{}, unexpected(err)
	}
	protocol, status, _ := strings.Cut(line, " ")
	digits, _, _ := strings.Cut(status, " ")
	code, err := strconv.Atoi(digits)
	if err != nil || len(digits) != 3 || code < 100 || !strings.HasPrefix(protocol, "HTTP/1.") {
		return Response{}, errResponse
	}
	header, err := text.ReadMIMEHeader()
	if err != nil {
		return Response{}, unexpected(err)
	}
	return Response{Code: code, Status: status, Header: header}, nil
}

func readLength(r io.Reader, text string) ([]byte, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > maxAnswer {
		return nil, errResponse
	}
	body := make([]byte, n)
	_, err = io.ReadFull(r, body)
	return body, unexpected(err)
}

func readChunks(r *bufio.Reader) (body []byte, err error) {
	text := textproto.NewReader(r)
	for {
		line, err := text.ReadLine()
		if err != nil {
			return nil, unexpected(err)
		}
		digits, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 31)
		if err != nil || n > maxAnswer {
			return nil, errResponse
		}
		if n == 0 {
			return body, nil // the connection ends after the trailer
		}
		start := len(body)
		body = append(body, make([]byte, n)...)
		if _, err := io.ReadFull(r, body[start:]); err != nil {
			return nil, unexpected(err)
		}
		if line, err := text.ReadLine(); err != nil || line != "" {
			return nil, unexpected(errors.Join(err, errResponse))
		}
	}
}

// unexpected makes an early end an error.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if protocol, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return fmt.Errorf("%w: %w", errResponse, protocol)
	}
	return err
}
