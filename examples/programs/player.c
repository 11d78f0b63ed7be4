/* A program that plays any game at random: a minimal one for the protocol, without a JSON library.
   cc -O2 -o player examples/programs/player.c
   leafwise eval threes "program:./player" --games 10 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST (1 << 20)

static char line[LONGEST + 2], moves[LONGEST + 2];

/* Returns the text after "key": in a line, NULL without such a key. In texts quotes are escaped, so only keys match. */
static char *value(char *text, const char *key) {
    char name[32];
    snprintf(name, sizeof name, "\"%s\":", key);
    char *found = strstr(text, name);
    if (!found) return NULL;
    found += strlen(name);
    return found + strspn(found, " ");
}

static int asks(char *text, const char *what) {
    char *found = value(text, "ask");
    size_t n = strlen(what);
    return found && found[0] == '"' && !strncmp(found + 1, what, n) && found[n + 1] == '"';
}

/* Returns the closing quote of the text that begins at a quote. */
static char *end_of(char *text) {
    for (text++; *text && *text != '"'; text++)
        if (*text == '\\' && text[1]) text++;
    return text;
}

int main(void) {
    unsigned long long random = 88172645463325252ull;
    while (fgets(line, sizeof line, stdin)) {
        if (asks(line, "quit")) break;
        if (asks(line, "hello")) {
            char *version = value(line, "protocol");
            puts(version && atoi(version) == 1 ? "{\"ready\": 1, \"name\": \"player.c\"}" : "{\"error\": \"expected version 1\"}");
        } else if (asks(line, "new")) {
            puts("{\"ready\": 1}");
        } else if (asks(line, "position")) { /* moves is a flat list of texts: store it for the line go */
            char *found = value(line, "moves");
            strcpy(moves, found ? found : "");
            continue;
        } else if (asks(line, "go")) {
            char *at, *end, *chosen = NULL;
            unsigned long long count = 0;
            for (at = moves + 1; *at && *at != ']'; at = *end ? end + 1 : end) {
                at = strpbrk(at, "\"]");
                if (!at || *at == ']') break;
                end = end_of(at);
                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                if (random % ++count == 0) chosen = at; /* all are equally probable */
            }
            if (chosen)
                printf("{\"move\": %.*s}\n", (int)(end_of(chosen) - chosen + 1), chosen);
            else
                puts("{\"error\": \"expected a legal move\"}");
        } else
            continue;
        fflush(stdout);
    }
    return 0;
}
