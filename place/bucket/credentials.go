package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/oauth2"

	"culvert/place"
)

// credentialsError says why there is nothing to sign a request with. It wraps nothing: the errors of what issues
// credentials look like those of a store, of its objects, or of the connection to it.
type credentialsError struct {
	scheme string
	text   string
	again  bool // the same request may succeed
	silent bool // there was no answer in time
}

func (e *credentialsError) Error() string { return e.text }

// Is tells that time has passed, as the error of a connection does on which nothing has moved.
func (e *credentialsError) Is(target error) bool { return target == os.ErrDeadlineExceeded && e.silent }

// translate returns the error in the words of this package.
func (e *credentialsError) translate() error {
	if e.again {
		return fmt.Errorf("%w: there are no new credentials: %s", place.ErrUnreachable, e.text)
	}
	text := fmt.Sprintf("there are no credentials: %s; they are taken from %s", e.text, credentialSources[e.scheme])
	return &refusedError{text, fs.ErrPermission}
}

// issuer makes a credentialsError of each failure to get credentials. Who had some will most likely get more: they are
// renewed in a long upload with the role of an instance, for example, whose server may be busy. Who never had any is
// told at once.
type issuer struct {
	scheme string
	had    atomic.Bool
}

// issued returns an error instead of that of an attempt to get credentials. If busy is set, a first attempt may be
// repeated too.
func (i *issuer) issued(err error, busy bool) error {
	if err == nil {
		i.had.Store(true)
		return nil
	}
	silent := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
	text := innermost(err)
	if silent {
		text = "there was no good answer in time"
	}
	return &credentialsError{i.scheme, text, busy || i.had.Load(), silent}
}

// awsCredentials are those of S3.
type awsCredentials struct {
	aws.CredentialsProvider
	issuer   issuer
	patience time.Duration // for all tries of the library
}

// Retrieve implements [aws.CredentialsProvider].
func (c *awsCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	credentials, err := c.CredentialsProvider.Retrieve(ctx)
	return credentials, c.issuer.issued(err, false)
}

// azureCredentials are those of Azure that have tokens.
type azureCredentials struct {
	azcore.TokenCredential
	issuer issuer
}

// GetToken implements [azcore.TokenCredential].
func (c *azureCredentials) GetToken(
	ctx context.Context, options policy.TokenRequestOptions,
) (azcore.AccessToken, error) {
	token, err := c.TokenCredential.GetToken(ctx, options)
	return token, c.issuer.issued(err, false)
}

// googleCredentials are those of Google.
type googleCredentials struct {
	oauth2.TokenSource
	issuer issuer
}

// Token implements [oauth2.TokenSource].
func (c *googleCredentials) Token() (*oauth2.Token, error) {
	token, err := c.TokenSource.Token()
	refused, is := errors.AsType[*oauth2.RetrieveError](err)
	if !is {
		// With the key of a service account, oauth2 returns only the text of an error of the connection.
		busy := err != nil && (isOfConnection(err) || strings.Contains(err.Error(), "cannot fetch token"))
		return token, c.issuer.issued(err, busy)
	}
	status := refused.Response.StatusCode
	busy := status >= http.StatusInternalServerError || status == http.StatusTooManyRequests ||
		status == http.StatusRequestTimeout
	var body struct {
		Code string `json:"error"`
		Text string `json:"error_description"`
	}
	if json.Unmarshal(refused.Body, &body) == nil && body.Code != "" {
		err = errors.New(strings.TrimSpace(body.Code + " " + body.Text))
	}
	return nil, c.issuer.issued(err, busy)
}
