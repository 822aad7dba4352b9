#include "server/tasks_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/text_buffer.h"
#include "server/tasks_json.h"
#include "server/tasks_text.h"

enum { TASKS_MAX = 10000, ANSWER_BYTES_MAX = 64 * 1024 * 1024 };

/* Take a picture of @executor and append it; *@left is how many tasks may still be listed. */
static int append_executor(struct tasks_page *page, struct executor *executor, bool is_text,
                           unsigned *left, struct text_buffer *out)
{
	struct stack_table *stacks = calloc(1, sizeof(*stacks));
	const char *name = executor_name(executor);
	struct task_dump dump;

	if (stacks == NULL)
		return -ENOMEM;
	int error = executor_dump_tasks(executor, *left, &dump);

	if (error == 0) {
		*left -= dump.count;
		if (is_text)
			error = tasks_text_append(out, &dump, name, stacks, &page->names);
		else
			tasks_json_append(out, &dump, name, stacks, &page->names);
		task_dump_finish(&dump);
	}
	free(stacks);
	return error;
}

static int append_all(struct tasks_page *page, bool is_text, struct text_buffer *out)
{
	const struct executor_set *set = page->executors;
	unsigned left = TASKS_MAX;
	int error = 0;

	text_buffer_append(out, is_text ? "" : "{\"executors\":[");
	for (size_t i = 0; error == 0 && i < set->count; i++) {
		text_buffer_append(out, is_text || i == 0 ? "" : ",");
		error = append_executor(page, set->executors[i], is_text, &left, out);
	}
	text_buffer_append(out, is_text ? "" : "]}\n");
	return error;
}

static void answer(struct tasks_page *page, bool is_text, struct response *response)
{
	struct text_buffer out;

	text_buffer_init(&out, ANSWER_BYTES_MAX);
	int error = append_all(page, is_text, &out);

	stack_names_rest(&page->names);
	if (error == 0)
		error = text_buffer_take(&out, &response->body, &response->body_len);
	text_buffer_finish(&out);
	if (error != 0)
		return; /* a 500 */
	response->status = 200;
	response->content_type = is_text ? "text/plain; charset=utf-8" : "application/json";
}

static void serve(struct handler *handler, const struct request *request, struct response *response)
{
	static const char *const formats[] = {"json", "text", NULL};
	struct query_parameter format = {
		.name = "format",
		.kind = QUERY_WORD,
		.words = formats,
		.word = "json",
	};
	struct query_error error;

	if (query_read(request->query, &format, 1, &error) != 0)
		response_bad_query(response, &error);
	else
		answer((struct tasks_page *)handler, strcmp(format.word, "text") == 0, response);
}

static void destroy(struct handler *handler)
{
	stack_names_finish(&((struct tasks_page *)handler)->names);
}

void tasks_page_init(struct tasks_page *page, const struct executor_set *executors)
{
	*page = (struct tasks_page){
		.super = {.method = "GET",
	                  .path = "/debug/tasks",
	                  .serve = serve,
	                  .destroy = destroy},
		.executors = executors,
	};
}
