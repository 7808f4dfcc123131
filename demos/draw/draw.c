#include "draw.h"

#include <cglm/cglm.h>
#include <epoxy/gl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw_mesh.h"
#include "draw_shaders.h"
#include "draw_text.h"
#include "levels.h"

#define SHADOW_SIZE 2048 /* texels on a side */
#define SAMPLES 4        /* per pixel */
#define FIELD_OF_VIEW 35.0f
#define MARKS_UNIT 2 /* texture unit of the marked faces */

/* Colours of objects, linear: five families, the grey of what stands still, and of containers. */
static const float kPalette[SCENE_COLOURS][3] = {
    {0.82f, 0.18f, 0.09f}, {0.86f, 0.55f, 0.10f}, {0.05f, 0.40f, 0.36f}, {0.10f, 0.27f, 0.62f},
    {0.38f, 0.15f, 0.52f}, {0.52f, 0.54f, 0.57f}, {0.52f, 0.54f, 0.57f}};
static const float kFog[3] = {0.74f, 0.79f, 0.86f};
static const float kZenith[3] = {0.30f, 0.42f, 0.60f};
static const float kAbyss[3] = {0.62f, 0.66f,
                                0.72f}; /* below the horizon where there is no ground */

/* A mesh on the card. */
typedef struct Model {
    GLuint vertexArray, vertexBuffer, indexBuffer;
    GLsizei indexCount;
} Model;

typedef struct Instance {
    float rows[12];
    float tint[4];
    int32_t culledFirst; /* as in the snapshot */
} Instance;

/* Where a view is made before it goes into the picture. */
typedef struct Target {
    int width, height;
    GLuint multisampled, resolved, shaded; /* framebuffers */
    GLuint samplesColour, samplesDepth;    /* renderbuffers */
    GLuint colour, depth, occlusion;       /* textures */
} Target;

struct Draw {
    GLuint objects, shadows, sky, occlude, finish, text; /* programs */
    GLuint shadowFrame, shadowMap;
    GLuint emptyArray, instances, textArray, textBuffer;
    GLuint culledBuffer, culledTexture;
    Target target;
    GLuint picture, pictureTexture;
    int width, height;

    const SceneWorld *world;
    Model *models; /* of the world's shapes, then sphere, box, ground, arrow, point */
    int modelCount;
    bool hasGround;
    float groundHeight;
};

enum { EXTRA_SPHERE, EXTRA_BOX, EXTRA_GROUND, EXTRA_ARROW, EXTRA_POINT, EXTRAS };

/* ------------------------------------------------------------------------------------------------
 * Programs, models, framebuffers
 */

static GLuint Compile(GLenum kind, const char *source)
{
    GLuint shader = glCreateShader(kind);
    GLint good = 0;
    char log[1024] = "";
    glShaderSource(shader, 1, &source, NULL);
    glCompileShader(shader);
    glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
    if (!good) {
        glGetShaderInfoLog(shader, sizeof log, NULL, log);
        fprintf(stderr, "OpenGL refuses a shader: %s\n", log);
    }
    return shader;
}

static GLuint Link(const char *vertex, const char *fragment)
{
    GLuint program = glCreateProgram();
    GLuint parts[2] = {Compile(GL_VERTEX_SHADER, vertex), Compile(GL_FRAGMENT_SHADER, fragment)};
    GLint good = 0;
    for (int i = 0; i < 2; ++i)
        glAttachShader(program, parts[i]);
    glLinkProgram(program);
    for (int i = 0; i < 2; ++i)
        glDeleteShader(parts[i]);
    glGetProgramiv(program, GL_LINK_STATUS, &good);
    if (!good) {
        glDeleteProgram(program);
        return 0;
    }
    return program;
}

static GLint Uniform(GLuint program, const char *name)
{
    return glGetUniformLocation(program, name);
}

static Model UploadModel(DrawMesh m)
{
    Model model = {0};
    glGenVertexArrays(1, &model.vertexArray);
    glGenBuffers(1, &model.vertexBuffer);
    glGenBuffers(1, &model.indexBuffer);
    glBindVertexArray(model.vertexArray);
    glBindBuffer(GL_ARRAY_BUFFER, model.vertexBuffer);
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)((size_t)m.vertexCount * sizeof *m.vertices),
                 m.vertices, GL_STATIC_DRAW);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, model.indexBuffer);
    glBufferData(GL_ELEMENT_ARRAY_BUFFER, (GLsizeiptr)((size_t)m.indexCount * sizeof *m.indices),
                 m.indices, GL_STATIC_DRAW);
    glEnableVertexAttribArray(0);
    glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, sizeof(DrawVertex),
                          (void *)offsetof(DrawVertex, position));
    glEnableVertexAttribArray(1);
    glVertexAttribPointer(1, 3, GL_FLOAT, GL_FALSE, sizeof(DrawVertex),
                          (void *)offsetof(DrawVertex, normal));
    glEnableVertexAttribArray(6);
    glVertexAttribPointer(6, 4, GL_UNSIGNED_BYTE, GL_TRUE, sizeof(DrawVertex),
                          (void *)offsetof(DrawVertex, colour));
    glBindVertexArray(0);
    model.indexCount = m.indexCount;
    DrawMeshFree(&m);
    return model;
}

static Model UploadOwn(SceneMesh mesh)
{
    Model model = UploadModel(DrawMeshFrom(&mesh));
    SceneMeshFree(&mesh);
    return model;
}

static void FreeModel(Model *model)
{
    glDeleteVertexArrays(1, &model->vertexArray);
    glDeleteBuffers(1, &model->vertexBuffer);
    glDeleteBuffers(1, &model->indexBuffer);
}

static void FreeModels(Draw *draw)
{
    for (int i = 0; i < draw->modelCount; ++i)
        FreeModel(&draw->models[i]);
    free(draw->models);
    draw->models = NULL;
    draw->modelCount = 0;
}

void DrawUseShapes(Draw *draw, SceneWorld *world, int level, bool exact)
{
    DrawUseWorld(draw, world);
    for (int i = 0; i < world->shapeCount; ++i) {
        const SceneMesh *mesh = &world->shapes[i].mesh;
        if (level < 0 && exact && world->shapes[i].drawn.triangleCount) {
            FreeModel(&draw->models[i]);
            draw->models[i] = UploadModel(DrawMeshFrom(mesh));
        }
        if (level < 0)
            continue;
        uint32_t *groups = SceneReallocate(NULL, (size_t)mesh->triangleCount * sizeof *groups);
        LevelsOf(SceneShapeCooked(world, i, SceneEngineFastMesh), level, groups);
        FreeModel(&draw->models[i]);
        draw->models[i] = UploadModel(DrawMeshGrouped(mesh, groups));
        free(groups);
    }
}

void DrawUseWorld(Draw *draw, const SceneWorld *world)
{
    static const double kArrow[][2] = {{0, 0}, {0.05, 0}, {0.05, 0.7}, {0.14, 0.7}, {0, 1}};
    FreeModels(draw);
    draw->world = world;
    draw->modelCount = world->shapeCount + EXTRAS;
    draw->models = SceneReallocate(NULL, (size_t)draw->modelCount * sizeof *draw->models);
    for (int i = 0; i < world->shapeCount; ++i) {
        const SceneShape *shape = &world->shapes[i];
        draw->models[i] =
            UploadModel(DrawMeshFrom(shape->drawn.triangleCount ? &shape->drawn : &shape->mesh));
    }
    Model *extra = draw->models + world->shapeCount;
    extra[EXTRA_SPHERE] = UploadOwn(SceneMeshSphere(1, 40, 20));
    extra[EXTRA_BOX] = UploadOwn(SceneMeshBox(1, 1, 1, 1));
    extra[EXTRA_GROUND] = UploadOwn(SceneMeshSheet(1, 1, 1, 1));
    extra[EXTRA_ARROW] = UploadOwn(SceneMeshLathe(kArrow, 5, 10));
    extra[EXTRA_POINT] = UploadOwn(SceneMeshSphere(1, 10, 6));

    draw->hasGround = false;
    for (int i = 0; i < world->objectCount; ++i)
        if (world->objects[i].form == SceneFormPlane && world->objects[i].size[2] > 0.99) {
            draw->hasGround = true;
            draw->groundHeight = (float)world->objects[i].size[3];
        }
}

static GLuint NewTexture(GLenum format, GLenum layout, GLenum type, int width, int height,
                         GLint filter)
{
    GLuint texture;
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexImage2D(GL_TEXTURE_2D, 0, (GLint)format, width, height, 0, layout, type, NULL);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, filter);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, filter);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    return texture;
}

static GLuint NewRenderbuffer(GLenum format, int width, int height)
{
    GLuint buffer;
    glGenRenderbuffers(1, &buffer);
    glBindRenderbuffer(GL_RENDERBUFFER, buffer);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, SAMPLES, format, width, height);
    return buffer;
}

static void FreeTarget(Target *t)
{
    GLuint frames[3] = {t->multisampled, t->resolved, t->shaded};
    GLuint buffers[2] = {t->samplesColour, t->samplesDepth};
    GLuint textures[3] = {t->colour, t->depth, t->occlusion};
    glDeleteFramebuffers(3, frames);
    glDeleteRenderbuffers(2, buffers);
    glDeleteTextures(3, textures);
    memset(t, 0, sizeof *t);
}

static void PrepareTarget(Target *t, int width, int height)
{
    if (t->width == width && t->height == height)
        return;
    FreeTarget(t);
    t->width = width;
    t->height = height;
    glGenFramebuffers(1, &t->multisampled);
    glBindFramebuffer(GL_FRAMEBUFFER, t->multisampled);
    t->samplesColour = NewRenderbuffer(GL_RGBA16F, width, height);
    t->samplesDepth = NewRenderbuffer(GL_DEPTH_COMPONENT24, width, height);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER,
                              t->samplesColour);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER,
                              t->samplesDepth);

    glGenFramebuffers(1, &t->resolved);
    glBindFramebuffer(GL_FRAMEBUFFER, t->resolved);
    t->colour = NewTexture(GL_RGBA16F, GL_RGBA, GL_FLOAT, width, height, GL_NEAREST);
    t->depth = NewTexture(GL_DEPTH_COMPONENT24, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT, width, height,
                          GL_NEAREST);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, t->colour, 0);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, t->depth, 0);

    glGenFramebuffers(1, &t->shaded);
    glBindFramebuffer(GL_FRAMEBUFFER, t->shaded);
    t->occlusion = NewTexture(GL_R8, GL_RED, GL_UNSIGNED_BYTE, width, height, GL_NEAREST);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, t->occlusion, 0);
}

static void PrepareShadow(Draw *draw)
{
    glGenFramebuffers(1, &draw->shadowFrame);
    glBindFramebuffer(GL_FRAMEBUFFER, draw->shadowFrame);
    draw->shadowMap = NewTexture(GL_DEPTH_COMPONENT24, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT,
                                 SHADOW_SIZE, SHADOW_SIZE, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_COMPARE_MODE, GL_COMPARE_REF_TO_TEXTURE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_COMPARE_FUNC, GL_LEQUAL);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, draw->shadowMap, 0);
    glDrawBuffer(GL_NONE);
    glReadBuffer(GL_NONE);
}

Draw *DrawCreate(void)
{
    if (epoxy_gl_version() < 33) {
        fprintf(stderr, "OpenGL 3.3 is needed to draw; this is %d.%d\n", epoxy_gl_version() / 10,
                epoxy_gl_version() % 10);
        return NULL;
    }
    Draw *draw = SceneReallocate(NULL, sizeof *draw);
    memset(draw, 0, sizeof *draw);
    draw->objects = Link(kObjectVertex, kObjectFragment);
    draw->shadows = Link(kObjectVertex, kShadowFragment);
    draw->sky = Link(kScreenVertex, kSkyFragment);
    draw->occlude = Link(kScreenVertex, kOcclusionFragment);
    draw->finish = Link(kScreenVertex, kFinishFragment);
    draw->text = Link(kTextVertex, kTextFragment);
    if (!draw->objects || !draw->shadows || !draw->sky || !draw->occlude || !draw->finish ||
        !draw->text) {
        DrawFree(draw);
        return NULL;
    }
    glGenVertexArrays(1, &draw->emptyArray);
    glGenVertexArrays(1, &draw->textArray);
    glGenBuffers(1, &draw->instances);
    glGenBuffers(1, &draw->textBuffer);
    glGenBuffers(1, &draw->culledBuffer);
    glGenTextures(1, &draw->culledTexture);
    PrepareShadow(draw);
    return draw;
}

void DrawFree(Draw *draw)
{
    if (!draw)
        return;
    FreeModels(draw);
    FreeTarget(&draw->target);
    GLuint programs[6] = {draw->objects, draw->shadows, draw->sky,
                          draw->occlude, draw->finish,  draw->text};
    for (int i = 0; i < 6; ++i)
        glDeleteProgram(programs[i]);
    GLuint frames[2] = {draw->shadowFrame, draw->picture};
    GLuint textures[3] = {draw->shadowMap, draw->pictureTexture, draw->culledTexture};
    GLuint arrays[2] = {draw->emptyArray, draw->textArray};
    GLuint buffers[3] = {draw->instances, draw->textBuffer, draw->culledBuffer};
    glDeleteFramebuffers(2, frames);
    glDeleteTextures(3, textures);
    glDeleteVertexArrays(2, arrays);
    glDeleteBuffers(3, buffers);
    free(draw);
}

/* ------------------------------------------------------------------------------------------------
 * Instances: sorted by model, drawn model by model
 */

typedef struct Batches {
    Instance *instances;
    int *first; /* of each model; modelCount + 1 entries */
} Batches;

static int ModelOf(const Draw *draw, int object)
{
    const SceneObject *o = &draw->world->objects[object];
    return o->form == SceneFormMesh     ? o->shape
           : o->form == SceneFormSphere ? draw->world->shapeCount + EXTRA_SPHERE
                                        : draw->world->shapeCount + EXTRA_BOX;
}

static bool IsDrawn(const float pose[12])
{
    return pose[0] != 0 || pose[1] != 0 || pose[2] != 0;
}

static Batches SortObjects(const Draw *draw, const DrawSnapshot *snapshot)
{
    Batches b;
    b.instances = SceneReallocate(NULL, (size_t)snapshot->objectCount * sizeof *b.instances);
    b.first = SceneReallocate(NULL, (size_t)(draw->modelCount + 1) * sizeof *b.first);
    int count = 0;
    for (int m = 0; m < draw->modelCount; ++m) {
        b.first[m] = count;
        for (int i = 0; i < snapshot->objectCount; ++i) {
            if (!IsDrawn(snapshot->poses[i]) || ModelOf(draw, i) != m)
                continue;
            Instance *instance = &b.instances[count++];
            const float *colour = kPalette[draw->world->objects[i].colour % SCENE_COLOURS];
            /* no two neighbours exactly alike */
            float shade = 0.85f + 0.3f * (float)((unsigned)i * 2654435761u >> 24) / 255;
            memcpy(instance->rows, snapshot->poses[i], sizeof instance->rows);
            for (int k = 0; k < 3; ++k)
                instance->tint[k] = colour[k] * shade;
            instance->tint[3] = 1;
            instance->culledFirst = snapshot->culledFirst ? snapshot->culledFirst[i] : -1;
        }
    }
    b.first[draw->modelCount] = count;
    return b;
}

static void UploadInstances(Draw *draw, const Instance *instances, int count)
{
    glBindBuffer(GL_ARRAY_BUFFER, draw->instances);
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)((size_t)count * sizeof *instances), instances,
                 GL_STREAM_DRAW);
}

/* Draws instances [first, first + count) of the uploaded ones as copies of a model. */
static void DrawInstances(Draw *draw, int model, int first, int count)
{
    const Model *m = &draw->models[model];
    if (count == 0)
        return;
    glBindVertexArray(m->vertexArray);
    glBindBuffer(GL_ARRAY_BUFFER, draw->instances);
    /* three rows and the tint, and after the vertex's own attribute 6 its marks */
    size_t start = (size_t)first * sizeof(Instance);
    for (GLuint i = 0; i < 4; ++i) {
        glEnableVertexAttribArray(2 + i);
        glVertexAttribPointer(2 + i, 4, GL_FLOAT, GL_FALSE, sizeof(Instance),
                              (void *)(start + 16 * i));
        glVertexAttribDivisor(2 + i, 1);
    }
    glEnableVertexAttribArray(7);
    glVertexAttribIPointer(7, 1, GL_INT, sizeof(Instance),
                           (void *)(start + offsetof(Instance, culledFirst)));
    glVertexAttribDivisor(7, 1);
    glDrawElementsInstanced(GL_TRIANGLES, m->indexCount, GL_UNSIGNED_INT, NULL, count);
    glBindVertexArray(0);
}

/* ------------------------------------------------------------------------------------------------
 * A view
 */

typedef struct View {
    mat4 view, projection, viewProjection, light;
    vec3 eye, target, toLight;
    float horizon;
} View;

static void LookFrom(const DrawCamera *camera, float aspect, View *view)
{
    float a = glm_rad(camera->azimuth), e = glm_rad(camera->elevation);
    float *target = view->target;
    memcpy(target, camera->target, sizeof view->target);
    view->eye[0] = target[0] + camera->distance * cosf(e) * sinf(a);
    view->eye[1] = target[1] - camera->distance * cosf(e) * cosf(a);
    view->eye[2] = target[2] + camera->distance * sinf(e);
    view->horizon = 12 * camera->distance;
    glm_lookat(view->eye, target, (vec3){0, 0, 1}, view->view);
    glm_perspective(glm_rad(FIELD_OF_VIEW), aspect, 0.05f * camera->distance, 30 * camera->distance,
                    view->projection);
    glm_mat4_mul(view->projection, view->view, view->viewProjection);

    /* the light comes over the viewer's left shoulder and covers what the camera can see well */
    float b = a - glm_rad(50);
    vec3 direction = {0.62f * sinf(b), -0.62f * cosf(b), 0.80f};
    glm_vec3_normalize_to(direction, view->toLight);
    float reach = 0.85f * camera->distance;
    vec3 from;
    glm_vec3_copy(target, from);
    glm_vec3_muladds(view->toLight, 3 * reach, from);
    mat4 lightView, lightProjection;
    glm_lookat(from, target, (vec3){0, 0, 1}, lightView);
    glm_ortho(-reach, reach, -reach, reach, 0.5f * reach, 6 * reach, lightProjection);
    glm_mat4_mul(lightProjection, lightView, view->light);
}

/* Of a container the near walls and the lid are left out, so that one can look into it. */
static bool IsContainer(const Draw *draw, int model)
{
    for (int i = 0; i < draw->world->objectCount; ++i)
        if (draw->world->objects[i].shape == model &&
            draw->world->objects[i].colour == SCENE_CONTAINER)
            return true;
    return false;
}

static void DrawBatches(Draw *draw, GLuint program, const Batches *batches)
{
    GLint isContainer = Uniform(program, "isContainer");
    for (int m = 0; m < draw->modelCount; ++m) {
        glUniform1i(isContainer, IsContainer(draw, m));
        DrawInstances(draw, m, batches->first[m], batches->first[m + 1] - batches->first[m]);
    }
    glUniform1i(isContainer, 0);
}

static void DrawShadows(Draw *draw, View *view, const Batches *batches)
{
    glBindFramebuffer(GL_FRAMEBUFFER, draw->shadowFrame);
    glViewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
    glEnable(GL_DEPTH_TEST);
    glEnable(GL_POLYGON_OFFSET_FILL);
    glPolygonOffset(2, 4);
    glClear(GL_DEPTH_BUFFER_BIT);
    glUseProgram(draw->shadows);
    glUniformMatrix4fv(Uniform(draw->shadows, "viewProjection"), 1, GL_FALSE, view->light[0]);
    glUniform3fv(Uniform(draw->shadows, "eye"), 1, view->eye);
    glUniform3fv(Uniform(draw->shadows, "target"), 1, view->target);
    DrawBatches(draw, draw->shadows, batches);
    glDisable(GL_POLYGON_OFFSET_FILL);
}

static void DrawSky(Draw *draw, const DrawCamera *camera)
{
    /* a ground that fades meets the fog at the horizon; without one the gradient just runs down */
    const float *low = draw->hasGround ? kFog : kAbyss;
    float tilt = glm_clamp(camera->elevation / 60, 0, 1);
    float high[3];
    for (int k = 0; k < 3; ++k)
        high[k] = kZenith[k] * (1 - 0.5f * tilt) + kFog[k] * 0.5f * tilt;
    glDisable(GL_DEPTH_TEST);
    glUseProgram(draw->sky);
    glUniform3fv(Uniform(draw->sky, "low"), 1, low);
    glUniform3fv(Uniform(draw->sky, "high"), 1, high);
    glBindVertexArray(draw->emptyArray);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glBindVertexArray(0);
    glEnable(GL_DEPTH_TEST);
}

/* The marks of the faces; a texture has to be there even where they are not shown. */
static void UploadMarks(Draw *draw, const DrawSnapshot *snapshot)
{
    static const uint32_t kNone = 0;
    size_t words = snapshot->culled ? (size_t)snapshot->culledWords : 0;
    glBindBuffer(GL_TEXTURE_BUFFER, draw->culledBuffer);
    glBufferData(GL_TEXTURE_BUFFER, (GLsizeiptr)((words ? words : 1) * sizeof kNone),
                 words ? snapshot->culled : &kNone, GL_STREAM_DRAW);
    glActiveTexture(GL_TEXTURE0 + MARKS_UNIT);
    glBindTexture(GL_TEXTURE_BUFFER, draw->culledTexture);
    glTexBuffer(GL_TEXTURE_BUFFER, GL_R32UI, draw->culledBuffer);
    glActiveTexture(GL_TEXTURE0);
}

static void UseObjectProgram(Draw *draw, View *view, bool shadowed, bool culled)
{
    GLuint p = draw->objects;
    glUseProgram(p);
    glUniformMatrix4fv(Uniform(p, "viewProjection"), 1, GL_FALSE, view->viewProjection[0]);
    glUniformMatrix4fv(Uniform(p, "lightProjection"), 1, GL_FALSE, view->light[0]);
    glUniform3fv(Uniform(p, "eye"), 1, view->eye);
    glUniform3fv(Uniform(p, "target"), 1, view->target);
    glUniform3fv(Uniform(p, "toLight"), 1, view->toLight);
    glUniform3fv(Uniform(p, "fog"), 1, kFog);
    glUniform1f(Uniform(p, "horizon"), view->horizon);
    glUniform1f(Uniform(p, "shadowTexel"), shadowed ? 1.0f / SHADOW_SIZE : 0);
    glUniform1i(Uniform(p, "shadowMap"), 0);
    glUniform1i(Uniform(p, "isGround"), 0);
    glUniform1i(Uniform(p, "isFlat"), 0);
    glUniform1i(Uniform(p, "showCulled"), culled);
    glUniform1i(Uniform(p, "culledFaces"), MARKS_UNIT);
    glActiveTexture(GL_TEXTURE0);
    glBindTexture(GL_TEXTURE_2D, draw->shadowMap);
}

static void DrawGround(Draw *draw, const DrawCamera *camera, float horizon)
{
    Instance ground = {.rows = {2 * horizon, 0, 0, camera->target[0], 0, 2 * horizon, 0,
                                camera->target[1], 0, 0, 1, draw->groundHeight},
                       .tint = {1, 1, 1, 1}};
    UploadInstances(draw, &ground, 1);
    glUniform1i(Uniform(draw->objects, "isGround"), 1);
    DrawInstances(draw, draw->world->shapeCount + EXTRA_GROUND, 0, 1);
}

/* Blue for a touch of 1e-5 m or less, over yellow, to red at 1 cm. */
static void DepthColour(float depth, float tint[4])
{
    static const float kStops[3][3] = {
        {0.05f, 0.45f, 1.6f}, {1.6f, 1.2f, 0.1f}, {1.9f, 0.06f, 0.03f}};
    float t = glm_clamp((log10f(fmaxf(depth, 1e-9f)) + 5) / 3, 0, 1) * 2;
    int i = t < 1 ? 0 : 1;
    for (int k = 0; k < 3; ++k)
        tint[k] = kStops[i][k] + (t - (float)i) * (kStops[i + 1][k] - kStops[i][k]);
    tint[3] = 1;
}

static void DrawContacts(Draw *draw, const DrawSnapshot *snapshot, float size)
{
    int count = snapshot->contactCount;
    Instance *instances = SceneReallocate(NULL, (size_t)(2 * count) * sizeof *instances);
    memset(instances, 0, (size_t)(2 * count) * sizeof *instances);
    for (int i = 0; i < count; ++i) {
        const float *c = snapshot->contacts[i];
        vec3 n = {c[3], c[4], c[5]}, x, y;
        glm_vec3_ortho(n, x);
        glm_vec3_normalize(x);
        glm_vec3_cross(n, x, y);
        Instance *arrow = &instances[i], *point = &instances[count + i];
        for (int row = 0; row < 3; ++row) {
            arrow->rows[4 * row] = size * x[row];
            arrow->rows[4 * row + 1] = size * y[row];
            arrow->rows[4 * row + 2] = size * n[row];
            arrow->rows[4 * row + 3] = point->rows[4 * row + 3] = c[row];
            point->rows[5 * row] = 0.13f * size;
        }
        DepthColour(c[6], arrow->tint);
        memcpy(point->tint, arrow->tint, sizeof point->tint);
    }
    UploadInstances(draw, instances, 2 * count);
    glUniform1i(Uniform(draw->objects, "isFlat"), 1);
    DrawInstances(draw, draw->world->shapeCount + EXTRA_ARROW, 0, count);
    DrawInstances(draw, draw->world->shapeCount + EXTRA_POINT, count, count);
    free(instances);
}

static void Blit(GLuint from, GLuint to, int width, int height, GLbitfield what)
{
    glBindFramebuffer(GL_READ_FRAMEBUFFER, from);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, to);
    glBlitFramebuffer(0, 0, width, height, 0, 0, width, height, what, GL_NEAREST);
}

static void DrawOcclusion(Draw *draw, View *view, float radius)
{
    Target *t = &draw->target;
    mat4 unproject;
    glm_mat4_inv(view->projection, unproject);
    glBindFramebuffer(GL_FRAMEBUFFER, t->shaded);
    glViewport(0, 0, t->width, t->height);
    glDisable(GL_DEPTH_TEST);
    glUseProgram(draw->occlude);
    glUniformMatrix4fv(Uniform(draw->occlude, "unproject"), 1, GL_FALSE, unproject[0]);
    glUniformMatrix4fv(Uniform(draw->occlude, "projection"), 1, GL_FALSE, view->projection[0]);
    glUniform1f(Uniform(draw->occlude, "radius"), radius);
    glUniform1i(Uniform(draw->occlude, "depths"), 0);
    glActiveTexture(GL_TEXTURE0);
    glBindTexture(GL_TEXTURE_2D, t->depth);
    glBindVertexArray(draw->emptyArray);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glBindVertexArray(0);
}

static void FinishView(Draw *draw, bool occlusion, int x, int y)
{
    Target *t = &draw->target;
    glBindFramebuffer(GL_FRAMEBUFFER, draw->picture);
    glViewport(x, draw->height - y - t->height, t->width, t->height);
    glDisable(GL_DEPTH_TEST);
    glUseProgram(draw->finish);
    glUniform1i(Uniform(draw->finish, "picture"), 0);
    glUniform1i(Uniform(draw->finish, "occlusion"), 1);
    glUniform1i(Uniform(draw->finish, "useOcclusion"), occlusion);
    glActiveTexture(GL_TEXTURE1);
    glBindTexture(GL_TEXTURE_2D, t->occlusion);
    glActiveTexture(GL_TEXTURE0);
    glBindTexture(GL_TEXTURE_2D, t->colour);
    glBindVertexArray(draw->emptyArray);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glBindVertexArray(0);
}

void DrawView(Draw *draw, const DrawSnapshot *snapshot, const DrawCamera *camera,
              const DrawOptions *options, int x, int y, int width, int height)
{
    View view;
    LookFrom(camera, (float)width / (float)height, &view);
    Target *t = &draw->target;
    PrepareTarget(t, width, height);

    Batches batches = SortObjects(draw, snapshot);
    UploadInstances(draw, batches.instances, batches.first[draw->modelCount]);
    if (options->fancy)
        DrawShadows(draw, &view, &batches);

    glBindFramebuffer(GL_FRAMEBUFFER, t->multisampled);
    glViewport(0, 0, width, height);
    glClear(GL_DEPTH_BUFFER_BIT);
    DrawSky(draw, camera);
    UploadMarks(draw, snapshot);
    UseObjectProgram(draw, &view, options->fancy, options->culled && snapshot->culled);
    DrawBatches(draw, draw->objects, &batches);
    if (draw->hasGround)
        DrawGround(draw, camera, view.horizon);
    Blit(t->multisampled, t->resolved, width, height, GL_DEPTH_BUFFER_BIT);

    /* contacts lie inside the bodies: shown through them */
    if (options->contacts && snapshot->contactCount > 0) {
        glBindFramebuffer(GL_FRAMEBUFFER, t->multisampled);
        glClear(GL_DEPTH_BUFFER_BIT);
        UseObjectProgram(draw, &view, false, false);
        DrawContacts(draw, snapshot, 0.035f * camera->distance);
    }
    Blit(t->multisampled, t->resolved, width, height, GL_COLOR_BUFFER_BIT);
    if (options->fancy)
        DrawOcclusion(draw, &view, 0.045f * camera->distance);
    FinishView(draw, options->fancy, x, y);
    free(batches.instances);
    free(batches.first);
}

/* ------------------------------------------------------------------------------------------------
 * The picture
 */

void DrawBegin(Draw *draw, int width, int height)
{
    if (draw->width != width || draw->height != height) {
        glDeleteFramebuffers(1, &draw->picture);
        glDeleteTextures(1, &draw->pictureTexture);
        glGenFramebuffers(1, &draw->picture);
        glBindFramebuffer(GL_FRAMEBUFFER, draw->picture);
        draw->pictureTexture =
            NewTexture(GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, width, height, GL_NEAREST);
        glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D,
                               draw->pictureTexture, 0);
        draw->width = width;
        draw->height = height;
    }
    glBindFramebuffer(GL_FRAMEBUFFER, draw->picture);
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
}

/* Triangles in pixels, in one colour. */
static void DrawFlat(Draw *draw, const float (*points)[2], int count, const float colour[4])
{
    glBindFramebuffer(GL_FRAMEBUFFER, draw->picture);
    glViewport(0, 0, draw->width, draw->height);
    glDisable(GL_DEPTH_TEST);
    glEnable(GL_BLEND);
    glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    glUseProgram(draw->text);
    glUniform2f(Uniform(draw->text, "pixels"), (float)draw->width, (float)draw->height);
    glUniform4fv(Uniform(draw->text, "colour"), 1, colour);
    glBindVertexArray(draw->textArray);
    glBindBuffer(GL_ARRAY_BUFFER, draw->textBuffer);
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)((size_t)count * sizeof *points), points,
                 GL_STREAM_DRAW);
    glEnableVertexAttribArray(0);
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
    glDrawArrays(GL_TRIANGLES, 0, count);
    glBindVertexArray(0);
    glDisable(GL_BLEND);
}

void DrawText(Draw *draw, const char *text, int x, int y, float size, DrawPanel panel)
{
    static const float kInk[4] = {1, 1, 1, 0.96f};
    static const float kPanels[][4] = {{0.05f, 0.07f, 0.10f, 0.62f},  /* dark */
                                       {0.04f, 0.36f, 0.22f, 0.85f},  /* good */
                                       {0.62f, 0.11f, 0.09f, 0.85f}}; /* bad */
    float margin = 0.5f * size;
    float left = (float)x - margin, top = (float)y - margin;
    float right = (float)x + DrawTextWidth(text, size) + margin;
    float bottom = (float)y + DrawTextHeight(text, size) + 0.6f * margin;
    const float corners[6][2] = {{left, top}, {right, top},    {right, bottom},
                                 {left, top}, {right, bottom}, {left, bottom}};
    DrawFlat(draw, corners, 6, kPanels[panel]);
    int count;
    float(*points)[2] = DrawTextTriangles(text, (float)x, (float)y, size, &count);
    DrawFlat(draw, (const float(*)[2])points, count, kInk);
    free(points);
}

void DrawEnd(Draw *draw)
{
    (void)draw;
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glFlush();
}

void DrawToWindow(Draw *draw, int windowWidth, int windowHeight)
{
    glBindFramebuffer(GL_READ_FRAMEBUFFER, draw->picture);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
    glBlitFramebuffer(0, 0, draw->width, draw->height, 0, 0, windowWidth, windowHeight,
                      GL_COLOR_BUFFER_BIT, GL_NEAREST);
}

void DrawRead(Draw *draw, unsigned char *rgb)
{
    size_t row = 3 * (size_t)draw->width;
    unsigned char *rows = SceneReallocate(NULL, row * (size_t)draw->height);
    glBindFramebuffer(GL_FRAMEBUFFER, draw->picture);
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glReadPixels(0, 0, draw->width, draw->height, GL_RGB, GL_UNSIGNED_BYTE, rows);
    for (int y = 0; y < draw->height; ++y) /* OpenGL's first row is the lowest */
        memcpy(rgb + row * (size_t)y, rows + row * (size_t)(draw->height - 1 - y), row);
    free(rows);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
}
