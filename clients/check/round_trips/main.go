// One round trip with what openapi-generator makes of the document, for Go.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"

	"check/pagefault"
)

const large = int64(3_000_000_000)

var (
	address = os.Getenv("PAGEFAULT_URL")
	session = os.Getenv("SESSION")
	ctx     = context.WithValue(context.Background(), pagefault.ContextAccessToken, os.Getenv("PAGEFAULT_KEY"))
)

func must[T any](value T, _ *http.Response, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// toldBy returns the kind of an entry, and what only that kind has.
func toldBy(entry pagefault.HistoryEntry) []string {
	switch told := entry.GetActualInstance().(type) {
	case *pagefault.ToolMessage:
		return []string{told.Entry, told.Sanitized.Meta.ToolName}
	case *pagefault.PageFaultMessage:
		return []string{told.Entry, told.GetToolCallId()}
	case *pagefault.HistoryMessage:
		content := told.GetContent()
		return []string{told.Entry, *content.String}
	default:
		return []string{fmt.Sprintf("%T", told)}
	}
}

func main() {
	configuration := pagefault.NewConfiguration()
	configuration.Servers = pagefault.ServerConfigurations{{URL: address}}
	client := pagefault.NewAPIClient(configuration)

	result := pagefault.NewToolResultRequest("camera", "call_1", "Done.")
	result.SetSessionId(session)
	made := must(client.ToolResultsAPI.CreateToolResult(ctx).ToolResultRequest(*result).Execute())
	rendered := must(client.RenderingsAPI.RenderToolResult(ctx, made.Id).Target(pagefault.TARGET_ANTHROPIC).Execute())

	draft := pagefault.NewPageDraft()
	draft.SetContent("Hello.")
	must(client.PagesAPI.PutPage(ctx, session).PageDraft(*draft).Execute())
	page := must(client.PagesAPI.GetPage(ctx, session).Execute())
	content := page.GetContent()

	full := pagefault.LEVELNAME_FULL
	wish := pagefault.NewFaultRequest()
	wish.SetTargetLevel(pagefault.LevelInput{LevelName: &full})
	wish.SetSessionId(session)
	wish.SetToolCallId("call_2")
	fault := must(client.PagesAPI.FaultPage(ctx, session).FaultRequest(*wish).Execute())

	message := pagefault.NewHistoryMessageDraft()
	message.SetRole("user")
	message.SetContent("Thanks.")
	must(client.SessionsAPI.AppendMessage(ctx, session).HistoryMessageDraft(*message).Execute())
	history := [][]string{}
	for _, entry := range must(client.SessionsAPI.ListMessages(ctx, session).Execute()).Items {
		history = append(history, toldBy(entry))
	}

	picture, err := os.Open(os.Getenv("PICTURE"))
	stored := must(client.ResourcesAPI.CreateResource(ctx).Body(must(picture, nil, err)).Filename("picture.png").Execute())
	file := must(client.ResourcesAPI.GetResourceContent(ctx, stored.Uri).Execute())
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		log.Fatal(err)
	}

	begun, err := client.UploadsAPI.CreateUpload(ctx).TusResumable(pagefault.TUSVERSION__1_0_0).UploadLength(large).Execute()
	location := must(begun, nil, err).Header.Get("Location")
	upload := must(client.UploadsAPI.GetUpload(ctx, location[strings.LastIndex(location, "/")+1:]).Execute())

	told := map[string]any{
		"page":       content,
		"rendered":   rendered.Target,
		"fault":      *fault.Content.String,
		"refused":    refusal(client),
		"history":    history,
		"uploaded":   stored.Size,
		"downloaded": hex.EncodeToString(digest.Sum(nil)),
		"length":     upload.Length,
		"event":      firstEvent(client),
	}
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		log.Fatal(err)
	}
}

// refusal returns what the fault of an absent page is answered with.
func refusal(client *pagefault.APIClient) []any {
	_, _, err := client.PagesAPI.FaultPage(ctx, "absent").Execute()
	var refused *pagefault.GenericOpenAPIError
	if !errors.As(err, &refused) {
		log.Fatalf("%v", err)
	}
	problem, isTyped := refused.Model().(pagefault.PageFaultProblem)
	if !isTyped {
		log.Fatalf("%T", refused.Model())
	}
	return []any{problem.Status, problem.Role, problem.PageId}
}

// firstEvent returns the first event of the session, read from the stream.
func firstEvent(client *pagefault.APIClient) []string {
	request, err := http.NewRequest(http.MethodGet, address+"/api/sessions/"+session+"/events?after=0", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("PAGEFAULT_KEY"))
	answer, err := client.GetConfig().HTTPClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	frame := map[string]json.RawMessage{}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			frame[field], _ = json.Marshal(value)
		case "id", "data":
			frame[field] = json.RawMessage(value)
		}
		if _, isThere := frame["event"]; isThere && len(frame) == 3 {
			break
		}
	}
	text, err := json.Marshal(frame)
	if err != nil {
		log.Fatal(err)
	}
	var event pagefault.StreamEvent
	if err := json.Unmarshal(text, &event); err != nil {
		log.Fatal(err)
	}
	return []string{event.ToolResultFrame.Event, event.ToolResultFrame.Data.ToolName}
}
