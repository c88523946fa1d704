// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Output of cmx: aligned tables for people, JSON for programs */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/ib.h>

#include "cmx.h"

const char *addr_text(const struct sockaddr *addr, char text[ADDR_TEXT_MAX])
{
	socklen_t len;

	if (!addr)
		return "-";
	switch (addr->sa_family) {
	case AF_INET:
		len = sizeof(struct sockaddr_in);
		break;
	case AF_INET6:
		len = sizeof(struct sockaddr_in6);
		break;
	case AF_IB:
		/* A GID is written as an IPv6 address is. */
		inet_ntop(AF_INET6,
			  &((const struct sockaddr_ib *)addr)->sib_addr, text,
			  ADDR_TEXT_MAX);
		return text;
	default:
		snprintf(text, ADDR_TEXT_MAX, "family %d", addr->sa_family);
		return text;
	}
	if (getnameinfo(addr, len, text, ADDR_TEXT_MAX, NULL, 0,
			NI_NUMERICHOST))
		return "?";
	return text;
}

unsigned int addr_port(const struct sockaddr *addr)
{
	if (addr && addr->sa_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)addr)->sin_port);
	if (addr && addr->sa_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	return 0;
}

static void json_string(FILE *file, const char *text)
{
	uint32_t value;
	int len;

	putc('"', file);
	for (; *text; text += len ? len : 1) {
		len = text_char(text, &value);
		if (!len)
			fputs("\\ufffd", file);
		else if (value == '"' || value == '\\')
			fprintf(file, "\\%c", *text);
		else if (!text_hidden(value))
			fwrite(text, len, 1, file);
		else if (value < 0x10000)
			fprintf(file, "\\u%04x", value);
		else
			fprintf(file, "\\u%04x\\u%04x",
				0xd7c0 + (value >> 10),
				0xdc00 + (value & 0x3ff));
	}
	putc('"', file);
}

static void json_key(struct json *json, const char *key)
{
	if (json->comma)
		fputs(", ", json->file);
	json->comma = true;
	if (key) {
		json_string(json->file, key);
		fputs(": ", json->file);
	}
}

void json_open(struct json *json, const char *key, char bracket)
{
	json_key(json, key);
	putc(bracket, json->file);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	putc(bracket, json->file);
	json->comma = true;
}

void json_text(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	if (value)
		json_string(json->file, value);
	else
		fputs("null", json->file);
}

void json_number(struct json *json, const char *key, unsigned long long value)
{
	json_key(json, key);
	fprintf(json->file, "%llu", value);
}

void json_integer(struct json *json, const char *key, long long value)
{
	json_key(json, key);
	fprintf(json->file, "%lld", value);
}

bool table_add(struct table *table, const char *const cells[])
{
	size_t i, at = table->rows * table->columns;
	char **grown;

	grown = reallocarray(table->cells, at + table->columns,
			     sizeof(*grown));
	if (!grown)
		return false;
	table->cells = grown;
	for (i = 0; i < table->columns; i++) {
		grown[at + i] = strdup(cells[i]);
		if (!grown[at + i]) {
			while (i--)
				free(grown[at + i]);
			return false;
		}
		text_clean(grown[at + i]);
	}
	table->rows++;
	return true;
}

/* Characters of clean text */
static int text_width(const char *text)
{
	int width = 0;
	uint32_t value;

	for (; *text; text += text_char(text, &value))
		width++;
	return width;
}

void table_print(const struct table *table)
{
	int len, width[TABLE_COLUMNS] = {};
	size_t row, column;
	const char *cell;

	for (row = 0; row < table->rows; row++) {
		for (column = 0; column < table->columns; column++) {
			len = text_width(table->cells[row * table->columns +
						      column]);
			if (len > width[column])
				width[column] = len;
		}
	}

	for (row = 0; row < table->rows; row++) {
		for (column = 0; column < table->columns; column++) {
			cell = table->cells[row * table->columns + column];
			if (column + 1 == table->columns) {
				puts(cell);
				break;
			}
			len = width[column] - text_width(cell);
			printf("%s%*s  ", cell, len, "");
		}
	}
}

void table_free(struct table *table)
{
	size_t i;

	for (i = 0; i < table->rows * table->columns; i++)
		free(table->cells[i]);
	free(table->cells);
	table->cells = NULL;
	table->rows = 0;
}
