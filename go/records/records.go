// Package records is a client of the outside service of lessons 11 and 12: records by host name, at $OUTSIDE_URL.
package records

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Refused is an answer of the service that isn't a success: its status code.
type Refused int

func (code Refused) Error() string { return fmt.Sprintf("the outside service answered %d", int(code)) }

// Client asks the service at $OUTSIDE_URL.
type Client struct {
	http.Client
}

// New makes a client whose requests may take so long.
func New(timeout time.Duration) *Client { return &Client{http.Client{Timeout: timeout}} }

// Record is what we keep at the service for one host.
type Record struct {
	Owner types.UID `json:"owner"`
}

// All returns the owner of every record. A record in a form that isn't ours has none.
func (c *Client) All(ctx context.Context) (map[string]types.UID, error) {
	there := map[string]json.RawMessage{}
	if err := c.ask(ctx, http.MethodGet, "", nil, &there); err != nil {
		return nil, err
	}
	owners := map[string]types.UID{}
	for host, value := range there {
		owners[host] = ownerOf(value)
	}
	return owners, nil
}

func ownerOf(value json.RawMessage) types.UID {
	record := Record{}
	_ = json.Unmarshal(value, &record) // other people's values may be anything
	return record.Owner
}

// Get returns the owner of a host's record, and whether there is a record at all.
func (c *Client) Get(ctx context.Context, host string) (owner types.UID, found bool, err error) {
	value := json.RawMessage{}
	if err := c.ask(ctx, http.MethodGet, "/"+host, nil, &value); err != nil {
		if errors.Is(err, Refused(http.StatusNotFound)) {
			return "", false, nil
		}
		return "", false, err
	}
	return ownerOf(value), true, nil
}

// Put makes the record of a host.
func (c *Client) Put(ctx context.Context, host string, owner types.UID) error {
	return c.ask(ctx, http.MethodPut, "/"+host, Record{owner}, nil)
}

// Delete removes the record of a host. If it is gone already, that's fine.
func (c *Client) Delete(ctx context.Context, host string) error {
	err := c.ask(ctx, http.MethodDelete, "/"+host, nil, nil)
	if errors.Is(err, Refused(http.StatusNotFound)) {
		return nil
	}
	return err
}

func (c *Client) ask(ctx context.Context, method, path string, value, answer any) error {
	body := []byte{}
	if value != nil {
		body, _ = json.Marshal(value)
	}
	request, err := http.NewRequestWithContext(ctx, method, os.Getenv("OUTSIDE_URL")+"/records"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return Refused(response.StatusCode)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
